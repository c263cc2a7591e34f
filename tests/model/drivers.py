"""A store as the machine drives it: on a lane in memory, or on real tables by one lane or both.

Each is a ``PubSub`` under a manual clock, and its verbs are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from pubsub_delta import (
    DeadLetterPolicy,
    ExpirationPolicy,
    ManualClock,
    Message,
    PubSub,
    RetryPolicy,
)
from pubsub_delta.clock import CheckedClock, Clock
from pubsub_delta.delivery import sources
from pubsub_delta.names import check_project
from pubsub_delta.tables.lanes.choice import LaneName
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.messages.stored import READ
from tests.model.memory import MemoryTables, World
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


class StoreDriver:
    """What is the same for every store: its public verbs, and looks at its tables."""

    clock: ManualClock
    processes: list[PubSub]

    def open(self) -> PubSub:
        """Open the store anew, as another process does."""
        return self._open(self.clock)

    def _open(self, clock: ManualClock) -> PubSub:
        raise NotImplementedError

    def publish(self, store: PubSub, topic: str, drafts: Sequence[Draft], late: int) -> None:
        if late:  # a publisher that stamped its messages long before it commits them
            store = self._open(ManualClock(at(seconds_of(self.clock.now()) - late)))
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
        tables = store._tables
        source = sources.source(tables, store._subscription(subscription))
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
        tables = self.processes[0]._tables
        rows = tables.lanes.local_scans.rows(tables.messages(topic_uid).table, Window(), READ)
        return [
            StoredMessage(
                str(row["position"]),
                seconds_of(row["publish_time"]),
                Draft(row["data"].decode(), dict(row["attributes"]), row["ordering_key"]),
            )
            for row in rows.to_pylist()
        ]


class MemoryPubSub(PubSub):
    """The client on tables in memory."""

    def __init__(self, tables: MemoryTables, clock: Clock, project: str = "local") -> None:
        self._tables, self._project = tables, check_project(project)
        self._clock = CheckedClock(clock)


class MemoryDriver(StoreDriver):
    """The real operations, policy and tables, on a lane in memory."""

    thorough = True

    def __init__(self) -> None:
        self.world = World()
        self.clock = ManualClock(START)
        self.processes = [self.open(), self.open()]

    def _open(self, clock: ManualClock) -> PubSub:
        return MemoryPubSub(MemoryTables(self.world), clock)

    def undone(self, act: Callable[[PubSub], Any], subscription: str) -> Backlog | None:
        before = self.world.lane.copy()
        other = self.open()
        try:
            act(other)
            return self.backlog(other, subscription)
        finally:
            self.world.lane.tables = before


class DeltaDriver(StoreDriver):
    """A store on real tables, under a root of its own.

    Args:
        spark: a session, or None where no lane needs one.
        root: where the tables are.
        lanes: the lane of each of the two processes.
    """

    thorough = False

    def __init__(
        self, spark: SparkSession | None, root: Path, lanes: tuple[LaneName, LaneName]
    ) -> None:
        self.spark = spark
        self.root = str(root)
        self.clock = ManualClock(START)
        self._turns = cycle(lanes)
        self.processes = [self.open(), self.open()]

    def _open(self, clock: ManualClock) -> PubSub:
        return PubSub(self.spark, self.root, clock=clock, lane=next(self._turns))

    def backlog(self, store: PubSub, subscription: str) -> Backlog:
        found = super().backlog(store, subscription)
        if self.spark is not None:
            columns = ("message_id", "state", "delivery_attempt")
            rows = store.backlog(subscription).select(*columns).collect()
            shown = {row["message_id"]: (row["state"], row["delivery_attempt"]) for row in rows}
            assert len(shown) == len(rows), "a message in two spans"
            assert shown == found
        return found

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
