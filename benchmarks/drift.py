"""What publish, pull and ack cost after many commits in the direct lane, against after few.

Every commit is made by the library, one after the other. The stores have no Spark.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from tempfile import mkdtemp

from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub

FEW, MANY, FULL = 100, 10_000, 100_000
EVERY = 10_000
"""Commits to a topic between two runs of maintain."""

OPERATIONS = ("publish", "pull", "ack")
TEN = [b"x" * 64] * 10
WARM_UPS = 3


def drift(bench: Bench) -> Section:
    """Time operations in turn on stores of 100 commits, of 10,000, and of 100,000 maintained."""
    rounds = 10 * bench.rounds
    section = Section(
        "drift",
        f"Publishes of 10 messages, pull(10) and ack, in the medians of {rounds} rounds. Stores "
        f"whose topic and ack state have {FEW:,} and {MANY:,} commits"
        + (
            f", and {FULL:,} with maintain(optimize=True, vacuum=True, "
            f'log_retention="1h") after every {EVERY:,} and in the end'
            if bench.full
            else ""
        )
        + ", each made by itself through the library, take turns in every round.",
    )
    few, many = f"after {FEW:,}", f"after {MANY:,}"
    stores = deque([_Store(bench, few, FEW), _Store(bench, many, MANY)])
    if bench.full:
        stores.append(_Store(bench, f"after {FULL:,}, maintained", FULL, maintained=True))
    others = [store.when for store in stores if store.when != few]
    for turn in range(rounds + WARM_UPS):
        for store in stores:
            store.round(section, keep=turn >= WARM_UPS)
        stores.rotate()  # another one is first in each round
    for when in others:
        for what in OPERATIONS:
            section.compare(
                f"{what} {when}: × {few}", [f"{what}, {when}"], [f"{what}, {few}"], at_most=1.3
            )
    return section


class _Store:
    """A store whose topic and ack state have so many commits each."""

    def __init__(self, bench: Bench, when: str, commits: int, *, maintained: bool = False) -> None:
        self.when = when
        self._store = PubSub(None, mkdtemp(dir=bench.directory))
        self._store.create_topic("old")
        self._store.create_subscription("old", "old", ack_deadline_seconds=600)
        for made in range(2, commits + 1, 2):
            self._two_commits()
            if maintained and (made % EVERY == 0 or made >= commits):
                self._maintain()

    def round(self, section: Section, *, keep: bool) -> None:
        store, when = self._store, self.when
        section.time(f"publish, {when}", partial(store.publish, "old", TEN), keep=keep)
        batch = section.time(f"pull, {when}", lambda: store.pull("old", 10), keep=keep)
        assert len(section.time(f"ack, {when}", batch.ack, keep=keep).success) == 10

    def _two_commits(self) -> None:
        """Commit twice to the topic, and twice to the ack state."""
        for _ in range(2):
            self._store.publish("old", [b"x" * 64])
        assert len(self._store.pull("old").ack().success) == 2

    def _maintain(self) -> None:
        report = self._store.maintain(optimize=True, vacuum=True, log_retention="1h")
        assert not report.problems, report
