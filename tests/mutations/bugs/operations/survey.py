"""Seeded bugs of ``operations/survey.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_metrics_over_time.py",
    "tests/unit/test_survey.py",
    "tests/unit/test_wrong_arguments.py",
)

BUGS = (
    Bug(
        "history-of-no-points",
        "A history of None points ends in an error of no documented class.",
        '_check_count("points", most)',
        "pass",
    ),
    Bug(
        "history-without-now",
        "Metrics over time end before what the card beside them says.",
        "    moments.append(_moment(subscription_metrics(tables, name, now), now))\n",
        "",
    ),
    Bug(
        "peek-beyond-its-bytes",
        "A peek returns whole messages, however large.",
        "data=data[:max_bytes],",
        "data=data,",
    ),
    Bug(
        "first-publishes-over-time",
        "The chart over time shows the first publishes and not the last.",
        "publishes[-most:]",
        "publishes[:most]",
    ),
    Bug(
        "publishes-counted-again",
        "Over time, a publish counts again after every later state of the subscription.",
        "if publish.version > metrics.after_version and time is not None and time < end:",
        "if time is not None and time < end:",
    ),
    Bug(
        "now-twice-over-time",
        "Over time, a subscription that was used just now has two last moments.",
        "    if moments[-1].time >= now:  # it was used just now\n        moments.pop()\n",
        "",
    ),
    Bug(
        "a-publish-makes-the-backlog-young",
        "Over time, the oldest message is that of the last publish.",
        "oldest_unacked_publish_time=time if oldest is None else min(oldest, time),",
        "oldest_unacked_publish_time=time,",
    ),
    Bug(
        "the-past-has-no-delivery-attempts",
        "The delivery attempts of a subscription over time are all 0.",
        "delivery_attempt=metrics.delivery_attempt or 0,",
        "delivery_attempt=0,",
    ),
    Bug(
        "a-history-after-the-detach",
        "The history of a detached subscription counts what was published since.",
        "and not subscription.filter and not subscription.detached:",
        "and not subscription.filter:",
    ),
    Bug(
        "an-age-below-zero",
        "After a clock was set back a history shows negative ages.",
        "oldest_unacked_message_age=max(0.0, age),",
        "oldest_unacked_message_age=age,",
    ),
    Bug(
        "a-backlog-of-the-last-publishes",
        "A history counts only the messages of the last publishes, as many as it has points.",
        "publishes = adding if new.is_complete else []",
        "publishes = adding[-most:] if new.is_complete else []",
    ),
    Bug(
        "a-backlog-without-what-came-before",
        "At an ack a history does not count what was published before it and not pulled.",
        "        for publish, time in until_then:",
        "        for publish, time in until_then[:0]:",
    ),
    Bug(
        "a-seek-later-in-the-history",
        "A history shows the backlog of before a seek until the next operation carries it out.",
        "states = [found.carry_out_seeks(each) for each in states]",
        "pass",
    ),
    Bug(
        "a-purge-without-end-in-the-history",
        "A history counts what a seek into the future acknowledges as it is published.",
        "if each.may_add(state.floor, None)",
        "if each.may_add(None, None)",
    ),
    Bug(
        "a-backlog-between-two-points",
        "A history shows a backlog that acks between two of its points have ended.",
        "in later if is_followed else ():",
        "in later:",
    ),
    Bug(
        "published-at-the-instant-of-a-commit",
        "Metrics over time do not count what was published at the instant of a commit.",
        "(until_then if time <= start else later)",
        "(until_then if time < start else later)",
    ),
)
