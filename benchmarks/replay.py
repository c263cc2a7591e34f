"""What a seek and a snapshot cost, with a large backlog against a small one, and the pull after.

Two topics, published in ten commits each, with a subscription that retains acknowledged messages
and has acknowledged half. Each round seeks to the middle, pulls one message, takes a snapshot,
seeks to it and pulls again; and a new subscription seeks to the beginning, which the topic's own
retention covers. A first pull is compared with that of a subscription that waited since before the
messages came, which finds as many and pulls.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from pyspark.sql import SparkSession

from benchmarks.floor import make_payloads
from benchmarks.measuring import Bench, Section
from pubsub_delta import ManualClock, PubSub

T = TypeVar("T")

SMALL = 5_000
COMMITS = 10
WARM_UPS = 2
SEEKS = ("seek to a time", "create_snapshot", "seek to a snapshot", "seek of a new subscription")
WAITED = "first pull of one that waited"
FIRST_PULLS = ("first pull after it", "first pull after that", "its first pull")


class Backlog:
    """A topic with so many messages, and a subscription that knows them all."""

    def __init__(
        self, spark: SparkSession, root: str, count: int, rounds: int, section: Section
    ) -> None:
        self.section = section
        self.clock = ManualClock()
        self.store = PubSub(spark, f"{root}/store-{count}", clock=self.clock)
        self.count = count
        self.store.create_topic("messages", message_retention_duration="31d")
        self.store.create_subscription("reader", "messages", retain_acked_messages=True)
        for turn in range(1, rounds + 1):
            self.store.create_subscription(f"waited-{turn}", "messages")
        payloads = make_payloads(spark, f"{root}/payloads-{count}", count // COMMITS)
        stamps = []
        for _ in range(COMMITS):
            self.clock.advance(60)
            stamps.append(self.clock.now())
            self.store.publish("messages", payloads)
        self.middle = stamps[COMMITS // 2]
        self.store.pull("reader", count // 2).ack()
        self.turn = 0

    def timed(self, what: str, step: Callable[[], T]) -> T:
        return self.section.time(f"{what}, {self.count:,}", step, keep=self.turn > WARM_UPS)

    def round(self) -> None:
        """Do everything once."""
        self.turn += 1
        store, clock, name = self.store, self.clock, f"snapshot-{self.turn}"
        clock.advance(3600)  # the leases of the round before are over
        middle = self.middle
        self.timed("seek to a time", lambda: store.seek("reader", time=middle))
        self.timed("first pull after it", lambda: store.pull("reader", 1))
        self.timed("a normal pull", lambda: store.pull("reader", 1))
        self.timed("create_snapshot", lambda: store.create_snapshot(name, "reader"))
        self.timed("seek to a snapshot", lambda: store.seek("reader", snapshot=name))
        self.timed("first pull after that", lambda: store.pull("reader", 1))
        late = f"late-{self.turn}"
        store.create_subscription(late, "messages")
        beginning = middle - timedelta(days=1)
        self.timed("seek of a new subscription", lambda: store.seek(late, time=beginning))
        batch = self.timed("its first pull", lambda: store.pull(late, 1))
        assert batch.message_count == 1
        self.timed("its second pull", lambda: store.pull(late, 1))
        assert store.metrics(late)["num_undelivered_messages"] == self.count
        waited = f"waited-{self.turn}"
        self.timed(WAITED, lambda: store.pull(waited, 1))
        store.delete_subscription(waited)
        store.delete_subscription(late)
        store.delete_snapshot(name)


def replay(bench: Bench) -> Section:
    """Seek, snapshot and pull, in turn with a small and a large backlog."""
    rounds, large = 3 * bench.rounds, bench.messages // 2
    section = Section(
        "replay",
        f"{SMALL:,} against {large:,} messages, in turn; {rounds} rounds after {WARM_UPS}.",
    )
    every = rounds + WARM_UPS
    backlogs = [Backlog(bench.spark, bench.directory, n, every, section) for n in (SMALL, large)]
    for _ in range(every):
        for backlog in backlogs:
            backlog.round()
    for what in SEEKS:
        section.compare(
            f"{what}: × at {large:,} against {SMALL:,}",
            [f"{what}, {large:,}"],
            [f"{what}, {SMALL:,}"],
            at_most=1.3,
        )
    for first in FIRST_PULLS:
        section.compare(
            f"{first}: × the first pull of one that waited for {large:,}",
            [f"{first}, {large:,}"],
            [f"{WAITED}, {large:,}"],
            at_most=1.3,
        )
    return section
