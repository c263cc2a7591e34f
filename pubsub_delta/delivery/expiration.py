"""Deletes a subscription that was idle for longer than its ttl, unless it is used meanwhile.

Activity is written to the ack state, which is another table than the registry. So the row of the
subscription is deleted first, and the ack state is read again after that. With activity since, the
row is put back, and so it is if nobody can tell.

While the row is away, an announced snapshot that nobody sees retains the messages of the topic.
``maintain`` removes it later, where a process crashes that has announced one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any

from pubsub_delta.errors import AlreadyExists, FailedPrecondition
from pubsub_delta.names import subscription_name
from pubsub_delta.policy import replay, retention
from pubsub_delta.resources import Snapshot, Subscription
from pubsub_delta.tables.store import Tables


def is_idle(tables: Tables, now: datetime, subscription: Subscription) -> bool:
    """Return whether a subscription was idle for longer than its ttl."""
    active_time = tables.ack_states.read(subscription.uid).active_time
    return retention.is_idle(subscription, active_time, now)


def expire(tables: Tables, subscription: Subscription, topic_uid: str, now: datetime) -> bool:
    """Delete a subscription if it is idle as it is stored now; tell whether it was deleted."""
    idle = partial(is_idle, tables, now)
    if not idle(subscription):
        return False
    with _messages_retained(tables, subscription, topic_uid, now):
        taken_out = tables.registry.take_out_subscription(subscription.uid, idle)
        if taken_out is None:
            return False
        try:
            expires = idle(taken_out[0])
        except (Exception, KeyboardInterrupt, SystemExit):
            put_back(tables, *taken_out)
            raise
        if not expires:
            put_back(tables, *taken_out)
    if expires:
        tables.ack_states.forget(subscription.uid)
    return expires


def put_back(tables: Tables, subscription: Subscription, row: Mapping[str, Any]) -> None:
    """Put back a row that was taken out; AlreadyExists if its name was taken meanwhile.

    Its dead-letter topic is protected again, as when it was given: a deletion that is under way
    has found nobody who names it. FailedPrecondition if it is gone.
    """
    if not tables.registry.put_back_subscription(row):
        raise AlreadyExists(
            "the subscription was used while it expired, and another one took its name: it is "
            "deleted, and its backlog is lost; seek a new subscription to the messages that are "
            "retained"
        )
    policy = subscription.dead_letter_policy
    if policy is None:
        return
    topic = tables.registry.topic(policy.dead_letter_topic)
    if topic is None or not tables.registry.change_topic(topic.uid, {}):
        raise FailedPrecondition(
            f"the subscription was used while it expired, and its dead-letter topic "
            f"{policy.dead_letter_topic} was deleted meanwhile; create it, or set another "
            "dead_letter_policy"
        )


@contextmanager
def _messages_retained(
    tables: Tables, subscription: Subscription, topic_uid: str, now: datetime
) -> Iterator[None]:
    """Retain all messages of a topic, as the creation of a snapshot does before it has captured."""
    project, uid = subscription_name(subscription.name, "").project, tables.new_id()
    announced = Snapshot(
        name=f"projects/{project}/snapshots/expiration-{uid}",
        topic=subscription.topic,
        expire_time=now + replay.SNAPSHOT_LIFETIME,
        labels={},
        create_time=now,
        uid=uid,
    )
    tables.registry.announce_snapshot(announced, topic_uid, subscription.filter)
    try:
        yield
    finally:
        with suppress(Exception):  # ``maintain`` removes the remains
            tables.registry.remove_snapshot(uid)
