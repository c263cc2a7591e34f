"""Queries of ``format("pubsub_delta")`` without Spark: what they would do with a consumer."""

from __future__ import annotations

from typing import Any

from pubsub_delta.datasource.consumer import Consumer
from pubsub_delta.datasource.offsets import Offset
from pubsub_delta.datasource.partitions import SpansPartition
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

ALIVE: list[Consumer] = []


def end() -> None:
    while ALIVE:
        ALIVE.pop().leave()


class Query:
    """A query without Spark: what it would do with a consumer, and what its checkpoint holds."""

    def __init__(self, store: InMemory, most: int | None = None, name: str = NAME) -> None:
        self.store = store
        self.most = most
        self.name = name
        self.committed: Offset | None = None
        self.planned: Offset | None = None
        self.seen: list[list[str]] = []
        self.start()

    def start(self) -> None:
        """Start it, perhaps again: the process is a new one."""
        name = self.store.store._subscription(self.name)
        end()
        self.consumer = Consumer(self.store.driver.open()._tables, name, self.store.driver.clock)

        ALIVE.append(self.consumer)

    def plan(self) -> bool:
        """Ask for the next offset, and write it into the checkpoint; false if there is none."""
        start = self.committed or self.consumer.start()
        following = self.consumer.following(start, self.most)
        if following == start:
            return False
        self.planned = following
        return True

    def run(self) -> list[str]:
        """Run the planned micro-batch; return its messages."""
        assert self.planned is not None
        start = self.committed or self.consumer.start()
        seen = texts(self.store, self.consumer.parts(start, self.planned))
        self.seen.append(seen)
        return seen

    def commit(self) -> None:
        """Write into the checkpoint that the planned micro-batch has ended."""
        self.committed, self.planned = self.planned, None

    def step(self) -> bool:
        """Run a micro-batch, if there is one."""
        if not self.plan():
            return False
        self.run()
        self.commit()
        return True


def texts(store: InMemory, found: list[SpansPartition]) -> list[str]:
    data = {}
    for topic in (TOPIC, LETTERS):
        uid = store.store.get_topic(topic).uid
        data.update({int(e.message_id): e.draft.data for e in store.driver.stored(uid)})
    positions = [p for part in found for each in part.spans for p in each.span().positions]
    return [data[position] for position in sorted(positions)]


def a_store(**fields: Any) -> InMemory:
    store = InMemory(**fields)
    store.publish("a", "b", "c")
    return store


class Sink:
    """Skips a micro-batch whose number it has, as Delta's sink does, and the sink of files."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.has: list[str] = []

    def step(self, query: Query, number: int) -> bool:
        """Run a micro-batch, under the number that Spark gives it, if there is one."""
        if not query.plan():
            return False
        found = query.run()
        if number not in self.numbers:
            self.numbers.add(number)
            self.has += found
        query.commit()
        return True
