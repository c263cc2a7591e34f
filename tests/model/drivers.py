"""A store as the machine drives it: on the tables in memory, or on real ones.

Both are a ``PubSub`` under a manual clock, and its verbs are the same. What differs is how messages
get in and out, for which the real one needs Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast

from pyspark.sql import SparkSession

from pubsub_delta import (
    DeadLetterPolicy,
    ExpirationPolicy,
    ManualClock,
    Message,
    PubSub,
    RetryPolicy,
)
from pubsub_delta.long_running import LongRunning
from pubsub_delta.operations import pull
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.messages import as_message
from pubsub_delta.tables.store import Tables
from tests.model.memory import MemoryMessages, MemoryTables, World
from tests.model.reference_values import Draft
from tests.unit.builders import START, at


@dataclass(frozen=True)
class Delivered:
    """A message as a pull delivers it, with the end of its lease in seconds."""

    ack_id: str
    message_id: str
    data: str
    attempt: int | None
    until: float


@dataclass(frozen=True)
class StoredMessage:
    """A message as a topic stores it."""

    message_id: str
    publish_time: float
    draft: Draft


Backlog = dict[str, tuple[str, int | None]]
"""State and delivery attempt of each unacknowledged message, by its id."""


class Driver(Protocol):
    """What the machine asks of a store besides the verbs of ``PubSub``."""

    thorough: bool
    """Whether looking is cheap, so that everything can be compared after every step."""
    clock: ManualClock
    processes: list[PubSub]

    def open(self) -> PubSub:
        """Open the store anew, as another process does."""

    def publish(self, store: PubSub, topic: str, drafts: Sequence[Draft], late: int) -> None:
        """Commit messages that were stamped some seconds ago."""

    def pull(self, store: PubSub, subscription: str, count: int | None) -> list[Delivered]:
        """Pull; return what was delivered, in its order."""

    def backlog(self, store: PubSub, subscription: str) -> Backlog:
        """Return what is unacknowledged; nothing is written."""

    def stored(self, topic_uid: str) -> list[StoredMessage]:
        """Return what is stored of a topic, also of a deleted one, in the order of receipt."""

    def undone(self, act: Callable[[PubSub], Any], subscription: str) -> Backlog | None:
        """Return the backlog that something would lead to; None where that cannot be undone."""


def seconds_of(time: datetime) -> float:
    """Return a time in seconds after the start of the world."""
    return (time - START).total_seconds()


def message_of(draft: Draft) -> Message:
    return Message(draft.data.encode(), draft.attributes, draft.key)


class MemoryPubSub(PubSub):
    """The client on tables in memory."""

    def __init__(self, tables: MemoryTables, clock: ManualClock) -> None:
        LongRunning.__init__(self, tables, "local", clock)


class MemoryDriver:
    """The real operations and policy, on rows in memory."""

    thorough = True

    def __init__(self) -> None:
        self.world = World()
        self.clock = ManualClock(START)
        self.processes = [self.open(), self.open()]

    def open(self) -> PubSub:
        return MemoryPubSub(MemoryTables(self.world), self.clock)

    def publish(self, store: PubSub, topic: str, drafts: Sequence[Draft], late: int) -> None:
        found = store.get_topic(topic)
        messages = [as_message(message_of(draft), n) for n, draft in enumerate(drafts)]
        now = seconds_of(self.clock.now())
        self._messages(found.uid).append(messages, at(now - late))

    def pull(self, store: PubSub, subscription: str, count: int | None) -> list[Delivered]:
        name = store._subscription(subscription)
        lease = pull.pull(store._tables, name, count, self.clock.now())
        if lease is None:
            return []
        contents = cast(MemoryMessages, lease.source.messages).contents
        counted = lease.source.subscription.dead_letter_policy is not None
        attempts = {n: span.delivery_attempt for span in lease.spans for n in span.positions}
        return [
            Delivered(
                str(AckId(lease.source.uid, lease.lease_id, n)),
                str(n),
                contents[n].data.decode(),
                attempts[n] if counted else None,
                seconds_of(lease.until),
            )
            for n in sorted(attempts)
        ]

    def backlog(self, store: PubSub, subscription: str) -> Backlog:
        tables: Tables = store._tables
        source = tables.source(store._subscription(subscription))
        state = source.catch_up(tables.ack_states.read(source.uid), self.clock.now())
        counted = source.subscription.dead_letter_policy is not None
        found = [
            (str(n), (span.state.value, span.delivery_attempt if counted else None))
            for span in state.unacked()
            for n in span.positions
        ]
        assert len(found) == len(dict(found)), "a message in two spans"
        return dict(found)

    def stored(self, topic_uid: str) -> list[StoredMessage]:
        messages = self._messages(topic_uid)
        contents = messages.contents
        return [
            StoredMessage(
                str(n),
                each.published,
                Draft(contents[n].data.decode(), contents[n].attributes, contents[n].ordering_key),
            )
            for n, each in sorted(messages.stored.messages.items())
        ]

    def undone(self, act: Callable[[PubSub], Any], subscription: str) -> Backlog | None:
        before = dict(self.world.ack_states)
        other = self.open()
        try:
            act(other)
            return self.backlog(other, subscription)
        finally:
            self.world.ack_states.clear()
            self.world.ack_states.update(before)

    def _messages(self, topic_uid: str) -> MemoryMessages:
        return self.world.topics.setdefault(topic_uid, MemoryMessages())


class DeltaDriver:
    """A store on real tables, under a root of its own."""

    thorough = False

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = str(root)
        self.clock = ManualClock(START)
        self.processes = [self.open(), self.open()]

    def open(self) -> PubSub:
        return PubSub(self.spark, self.root, clock=self.clock)

    def publish(self, store: PubSub, topic: str, drafts: Sequence[Draft], late: int) -> None:
        if late:  # a publisher that stamped its messages long before it commits them
            stamped = ManualClock(at(seconds_of(self.clock.now()) - late))
            store = PubSub(self.spark, self.root, clock=stamped)
        store.publish(topic, [message_of(draft) for draft in drafts])

    def pull(self, store: PubSub, subscription: str, count: int | None) -> list[Delivered]:
        batch = store.pull(subscription, count)
        if batch.ack_deadline is None:
            return []
        until = seconds_of(batch.ack_deadline)
        return [
            Delivered(
                each.ack_id, each.message_id, each.data.decode(), each.delivery_attempt, until
            )
            for each in batch
        ]

    def backlog(self, store: PubSub, subscription: str) -> Backlog:
        columns = ("message_id", "state", "delivery_attempt")
        rows = store.backlog(subscription).select(*columns).collect()
        found = {row["message_id"]: (row["state"], row["delivery_attempt"]) for row in rows}
        assert len(found) == len(rows), "a message in two spans"
        return found

    def stored(self, topic_uid: str) -> list[StoredMessage]:
        messages = self.processes[0]._tables.messages(topic_uid)
        rows = messages.everything().selectExpr("*", "unix_micros(publish_time) AS micros")
        begin = START.timestamp()
        found = [
            StoredMessage(
                row["message_id"],
                row["micros"] / 1_000_000 - begin,
                Draft(
                    bytes(row["data"] or b"").decode(),
                    dict(row["attributes"] or {}),
                    row["ordering_key"] or "",
                ),
            )
            for row in rows.collect()
        ]
        return sorted(found, key=lambda each: int(each.message_id))

    def undone(self, act: Callable[[PubSub], Any], subscription: str) -> Backlog | None:
        return None


def as_given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields of the reference as the library takes them."""
    given: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "retention":
            given["message_retention_duration"] = timedelta(seconds=value)
        elif name == "ttl":
            given["expiration_policy"] = ExpirationPolicy(value)
        elif name == "dead_letter":
            given["dead_letter_policy"] = value and DeadLetterPolicy(*value)
        elif name == "retry":
            given["retry_policy"] = value and RetryPolicy(*value)
        else:
            given[NAMES.get(name, name)] = value
    return given


NAMES = {
    "ack_deadline": "ack_deadline_seconds",
    "retain_acked": "retain_acked_messages",
    "ordered": "enable_message_ordering",
    "exactly_once": "enable_exactly_once_delivery",
}
