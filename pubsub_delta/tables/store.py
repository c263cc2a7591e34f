"""All tables of one store, and the one step that several operations begin with."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession

from pubsub_delta.errors import FailedPrecondition, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, retention
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.resources import Subscription, Topic
from pubsub_delta.tables.ack_states import AckStates
from pubsub_delta.tables.commits import Commits
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.ordering import OrderingKeys
from pubsub_delta.tables.registry import Registry


def new_uid() -> str:
    """Return a name that nobody else has: 32 hexadecimal digits."""
    return uuid.uuid4().hex


class Tables:
    """The tables of one store."""

    def __init__(self, spark: SparkSession, root: str, new_id: Callable[[], str] = new_uid) -> None:
        self.spark = spark
        self.new_id = new_id
        self._layout = layout_of(root)
        self._commits = Commits(spark, self._layout)
        self.registry = Registry(spark, self._layout, self._commits)
        self.ack_states = AckStates(spark, self._layout.ack_state, self._commits, new_id)

    def messages(self, topic_uid: str) -> Messages:
        """Return the messages of a topic."""
        return Messages(self.spark, self._layout.messages(topic_uid), self._commits)

    def topic(self, name: ResourceName) -> Topic:
        """Return a topic, or raise NotFound naming it."""
        found = self.registry.topic(str(name))
        if found is None:
            raise NotFound(f"topic {name} does not exist; create_topic creates it")
        return found

    def subscription(self, name: ResourceName) -> Subscription:
        """Return a subscription, or raise NotFound naming it."""
        found = self.registry.subscription(str(name))
        if found is None:
            raise _no_subscription(name)
        return found

    def source(self, name: ResourceName) -> Source:
        """Return a subscription to pull from or acknowledge to, with its topic's messages.

        NotFound where there is none, FailedPrecondition where it is detached.
        """
        source = self.find_source(name)
        if source is None:
            raise _no_subscription(name)
        if source.subscription.detached:
            raise FailedPrecondition(
                f"subscription {name} is detached from its topic and has no messages any more; "
                "delete it and create it anew"
            )
        return source

    def find_source(self, name: ResourceName) -> Source | None:
        """Return a subscription with its topic's messages, also a detached one, or None."""
        found = self.registry.source(str(name))
        return None if found is None else Source(found[0], self.messages(found[1]))


@dataclass(frozen=True)
class Source:
    """A subscription that is attached to a topic, and the topic's messages."""

    subscription: Subscription
    messages: Messages

    @property
    def uid(self) -> str:
        """The subscription's uid, which names its ack state."""
        return self.subscription.uid

    @property
    def terms(self) -> delivery.Terms:
        """The terms on which the subscription delivers."""
        return delivery.Terms(self.subscription, OrderingKeys(self.messages))

    def catch_up(self, state: AckState, now: datetime) -> AckState:
        """Bring an ack state up to date: new messages in, old ones out, leases that are over ended.

        Nothing is written. Without new messages it costs one look at the topic's history.
        """
        commits, known = self.messages.commits_after(state.after_version)
        if commits:
            wanted = parse_filter(self.subscription.filter)
            absorbed = self.messages.absorb(state.after_version, commits, known, wanted)
            if absorbed or wanted:
                state = delivery.absorb(state, absorbed, commits[0].version)
        state = delivery.settle(state, self.terms, now)
        oldest = now - self.subscription.message_retention_duration
        state = retention.discard_before(state, oldest)
        partly_old = retention.straddling(state, oldest)
        if partly_old:
            since = min(span.publish_time_min for span in partly_old)
            gone, earliest = self.messages.before(oldest, since)
            state = retention.clip(state, oldest, gone, earliest or oldest)
        return state


def _no_subscription(name: ResourceName) -> NotFound:
    return NotFound(f"subscription {name} does not exist; create_subscription creates it")
