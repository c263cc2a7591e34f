"""Seeded bugs of ``policy/retention.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_retention.py",
    "tests/unit/test_needed.py",
    "tests/unit/test_replay.py",
    "tests/unit/test_whole_states_of_seeks.py",
)

BUGS = (
    Bug(
        "seek-boundary",
        "A seek to a time acknowledges messages that were published exactly then.",
        "if span.publish_time_max < time:",
        "if span.publish_time_max <= time:",
    ),
    Bug(
        "longer-retention-reaches-back",
        "A topic retention that is turned on covers what was published before.",
        "return max(topic.retained_from, now - topic.message_retention_duration)",
        "return now - topic.message_retention_duration",
    ),
    Bug(
        "lengthened-brings-back-discarded",
        "A topic retention that is lengthened covers again what it did not cover any more.",
        "return covered_from(topic, now) or now",
        "return topic.retained_from or now",
    ),
    Bug(
        "lengthened-covers-nothing",
        "A topic retention that is changed gives up what it covered.",
        "return covered_from(topic, now) or now",
        "return now",
    ),
    Bug(
        "topic-retention-ignored",
        "An unacked message disappears although the topic's longer retention covers it.",
        "oldest = min(limit, covered() or limit)",
        "oldest = limit",
    ),
    Bug(
        "topic-retention-shortens",
        "A topic retention shorter than the subscription's takes unacked messages away.",
        "oldest = min(limit, covered() or limit)",
        "oldest = covered() or limit",
    ),
    Bug(
        "leased-disappears",
        "A message that is too old disappears while it is leased.",
        "_MAY_GO = (State.AVAILABLE, State.BACKING_OFF)",
        "_MAY_GO = (State.AVAILABLE, State.BACKING_OFF, State.LEASED)",
    ),
    Bug(
        "needed-at-the-limit",
        "A retained message whose age is exactly the retention may be deleted.",
        "if span.publish_time_max >= limit:",
        "if span.publish_time_max > limit:",
    ),
    Bug(
        "needed-after-a-snapshot",
        "What was published after a snapshot may be deleted.",
        "return min([*times, *([following] if following is not None else [])], default=None)",
        "return min(times, default=None)",
    ),
    Bug(
        "acked-follower-not-needed",
        "An acknowledged message that an earlier one may bring back may be deleted.",
        "held = [span for span in state.spans if span.state is not State.RETAINED]",
        "held = state.unacked()",
    ),
    Bug(
        "expires-at-its-ttl",
        "A subscription that was idle for exactly its ttl is deleted.",
        "return now - since > ttl",
        "return now - since >= ttl",
    ),
    Bug(
        "activity-does-not-count",
        "A subscription that is in use is deleted a ttl after its last update.",
        "since = max(subscription.update_time, active_time or subscription.update_time)",
        "since = subscription.update_time",
    ),
    Bug(
        "snapshot-needs-no-late-publish",
        "What a slow publisher commits after a snapshot is deleted if it holds other messages.",
        "    return min([*times, *([following] if following is not None else [])], default=None)\n",
        "    return min(times, default=following)\n",
    ),
    Bug(
        "update-of-a-used-one",
        "An update of a subscription that was pulled from once is no activity.",
        "since = max(subscription.update_time, active_time or subscription.update_time)",
        "since = active_time or subscription.update_time",
    ),
)
