"""What the machine draws: values that the specification permits, many near where a rule turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.model.reference import Reference
from tests.model.reference_subscription import Subscription
from tests.model.reference_values import DAY, FILTERS, HOUR, MINUTE, Fields

BEGINNING = -40 * DAY
TOPICS = (TOPIC, LETTERS) = ("flights", "letters")
SUBSCRIPTIONS = ("first", "second", "third")
SNAPSHOTS = ("before", "after")

Shape = tuple[Mapping[str, str], str]
"""The attributes and the ordering key of a message."""

topics = st.sampled_from([TOPIC, TOPIC, LETTERS])
mostly_the_topic = st.sampled_from([TOPIC, TOPIC, TOPIC, LETTERS])
subscriptions = st.sampled_from(SUBSCRIPTIONS)
snapshots = st.sampled_from(SNAPSHOTS)
seldom = st.integers(0, 9)

topic_retentions = st.sampled_from([None, None, 10 * MINUTE, 20 * MINUTE, 2 * HOUR, 31 * DAY])
new_topic_retentions = topic_retentions | st.sampled_from([10 * MINUTE - 1, 31 * DAY + 1])
retentions = st.sampled_from([10 * MINUTE, 15 * MINUTE, HOUR, 7 * DAY, 7 * DAY, 30 * DAY])
retries = st.sampled_from([None, (2, 16), (10, 60), (600, 600), (0, 0)])
dead_letters = st.sampled_from([None, (LETTERS, 5), (LETTERS, 6)])
ack_deadlines = st.sampled_from([0, 10, 10, 20, 60, 600])
ttls = st.sampled_from([None, 31 * DAY, DAY, DAY + 1, 8 * DAY])
filters = st.sampled_from(["", "", "", *FILTERS])
wrong_filters = st.sampled_from(["attributes", "attributes.a = b", "NOT NOT attributes:a"])

attributes = st.sampled_from([{}, {}, {"kind": "a"}, {"kind": "ab"}, {"kind": "b", "odd": ""}])
keys = st.sampled_from(["", "red", "blue"])
shapes: st.SearchStrategy[list[Shape]] = st.lists(
    st.tuples(attributes, keys), min_size=1, max_size=5
)
delays = st.sampled_from([0, 0, 0, 0, 5, 300, 700, 4_000])

counts = st.sampled_from([None, None, None, None, 1, 2, 3, 0])
new_deadlines = st.sampled_from([0, 0, 0, 1, 15, 600, 601])
lifetimes = st.sampled_from([0, 1, HOUR - 1, HOUR, DAY, 7 * DAY])
rounds = st.sampled_from([1, 2, 6, 7])
moments = st.sampled_from([1, 2, 5, 9, 10, 11, 30, 60, 300, 600])
duties = st.sampled_from(
    [
        {"dead_letters": True, "expiration": True, "retention": True},
        {"dead_letters": True, "expiration": True, "retention": True},
        {"dead_letters": True, "expiration": False, "retention": False},
        {"dead_letters": False, "expiration": False, "retention": True},
    ]
)


def _longer_than_retention(values: dict[str, Any]) -> Fields:
    # "≥ 1 d and > `message_retention_duration`"
    if values["ttl"] is not None and values["ttl"] <= values["retention"]:
        values = {**values, "ttl": values["retention"] + values["ttl"]}
    return Fields(**values)


fields = st.fixed_dictionaries(
    {
        "ack_deadline": ack_deadlines,
        "retention": retentions,
        "retain_acked": st.booleans(),
        "ttl": ttls,
        "filter": filters,
        "ordered": st.booleans(),
        "exactly_once": st.booleans(),
        "dead_letter": dead_letters,
        "retry": retries,
    }
).map(_longer_than_retention)
new_fields = fields | st.builds(Fields, filter=wrong_filters)

CHANGEABLE = {
    "ack_deadline": ack_deadlines | st.just(9),
    "retention": retentions | st.just(31 * DAY + 1),
    "retain_acked": st.booleans(),
    "ttl": ttls,
    "exactly_once": st.booleans(),
    "dead_letter": dead_letters | st.sampled_from([(LETTERS, 4), ("absent", 5)]),
    "retry": retries | st.just((10, 9)),
}
changes = st.sampled_from(sorted(CHANGEABLE)).flatmap(
    lambda name: st.fixed_dictionaries({name: CHANGEABLE[name]})
)


def ends(reference: Reference) -> list[int]:
    """Return the next moments at which something ends: a lease, a backoff, a time that is kept."""
    now, found = reference.now, set()
    for subscription in reference.subscriptions.values():
        kept = {subscription.fields.retention, subscription.topic.retention or 0}
        for message, row in subscription.rows.items():
            found |= {row.until, row.waits_until}
            found |= {message.publish_time + each for each in kept}
            found.add(message.publish_time + 7 * DAY - HOUR)
        if subscription.fields.ttl is not None:
            found.add(subscription.active + subscription.fields.ttl)
        found.add(subscription.floor or 0)
    for snapshot in reference.live_snapshots():
        found |= {snapshot.expire_time, snapshot.expire_time - HOUR}
    # a message is too old a moment after its age is the limit
    return sorted(time for time in found | {time + 1 for time in found} if time > now)


def times_of_seeks(reference: Reference, subscription: Subscription) -> st.SearchStrategy[int]:
    """Return times at which something begins or ends for a seek, and others beside them.

    As often the beginning, or a time to come: what is published until then is purged.
    """
    now, topic = reference.now, subscription.topic
    exact = [now, *(message.publish_time for message in topic.messages[-8:])]
    exact.append(now - subscription.fields.retention)
    since = topic.covered_from(now)
    exact += [] if since is None else [since]
    near = sorted({time + step for time in exact for step in (-1, 0, 1)})
    return st.sampled_from(near) | st.sampled_from([BEGINNING, now + 30, now + HOUR])
