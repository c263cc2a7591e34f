"""What publish, pull and ack cost after ten thousand commits, against what they cost after few."""

from __future__ import annotations

import tempfile
import time
from collections import deque
from functools import partial
from pathlib import Path

from benchmarks.aging import INTERVAL, age
from benchmarks.floor import Floor
from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub

MINUTE = 60
"""Seconds of history that maintain leaves; Delta counts by whole minutes."""

PLAIN = {"publish": "plain append", "pull": "ten-row MERGE", "ack": "ten-row MERGE"}
"""Operations, and what plain Delta does in their place."""

TEN = [b"x" * 64] * 10


def drift(bench: Bench) -> Section:
    """Time operations on tables of about 100 commits, and in turn on tables of thousands."""
    commits, rounds = (10_000 if bench.full else 2_000), 5 * bench.rounds
    section = Section(
        "drift",
        f"Publishes of 10 messages, pull(10) and ack, in the medians of {rounds} rounds, in turn "
        "with an append of 10 rows and a ten-row MERGE on plain tables. Three stores with plain "
        "tables beside each take turns in every round: one whose topic, ack state and plain tables "
        f"have 100 commits, one where they have {commits:,}, and one of as many on which "
        'maintain(optimize=True, truncate_history="1m") ran. Most of those commits are copies of '
        "real ones, written by hand, with the four files that a commit has on a local disk and the "
        "times of two commits a second; one in a thousand and the last are real and write a "
        "checkpoint.",
    )
    young, old = "after 100", f"after {commits:,}"
    maintained = _Pair(bench, "after maintain", commits=commits)
    maintained.maintain()
    pairs = deque(
        [_Pair(bench, young, commits=100), _Pair(bench, old, commits=commits), maintained]
    )
    for turn in range(rounds + 3):
        for pair in pairs:
            pair.round(section, keep=turn > 2)
        pairs.rotate()  # another one is first in each round
    for when in (old, "after maintain"):
        for what in PLAIN:
            section.compare(
                f"{what} {when}: × {young}",
                [f"{what}, {when}"],
                [f"{what}, {young}"],
                at_most=1.3,
            )
    for what in dict.fromkeys(PLAIN.values()):
        section.compare(f"{what} {old}: × {young}", [f"{what}, {old}"], [f"{what}, {young}"])
    for what, beside in PLAIN.items():
        for when in (young, old):
            section.compare(
                f"{what} {when}: × a {beside}", [f"{what}, {when}"], [f"{beside}, {when}"]
            )
    return section


class _Pair:
    """A store and plain tables, of as many commits."""

    def __init__(self, bench: Bench, when: str, *, commits: int) -> None:
        self.when = when
        directory = tempfile.mkdtemp(dir=bench.directory)
        self.store = PubSub(bench.spark, f"{directory}/store")
        topic = self.store.create_topic("old")
        subscription = self.store.create_subscription("old", "old", ack_deadline_seconds=600)
        self.stored = [
            Path(directory, "store", "messages", topic.uid),
            Path(directory, "store", "ack_state", subscription.uid),
        ]
        self.floor = Floor(bench.spark, directory)
        for table in (f"delta.`{self.floor.alike}`", self.floor.ten_rows):
            interval = f"'delta.checkpointInterval' = '{INTERVAL}'"
            bench.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({interval})")
        age(self.stored, commits, self._cycle)
        age([Path(self.floor.alike), Path(directory, "ten_rows")], commits, self._plain_cycle)

    def maintain(self) -> None:
        time.sleep(2 * MINUTE)
        report = self.store.maintain(optimize=True, truncate_history=MINUTE)
        assert len(report.truncated) == len(self.stored), report

    def round(self, section: Section, *, keep: bool) -> None:
        store, floor, when = self.store, self.floor, self.when
        section.time(f"plain append, {when}", partial(floor.append_few, TEN), keep=keep)
        section.time(f"publish, {when}", lambda: store.publish("old", TEN), keep=keep)
        batch = section.time(f"pull, {when}", lambda: store.pull("old", 10), keep=keep)
        assert len(section.time(f"ack, {when}", batch.ack, keep=keep).success) == 10
        section.time(f"ten-row MERGE, {when}", floor.merge, keep=keep)

    def _cycle(self) -> None:
        """Commit once to the topic, and twice to the ack state."""
        self.store.publish("old", ["x" * 64])
        self.store.pull("old", 1).ack()

    def _plain_cycle(self) -> None:
        self.floor.append_few([b"x" * 64])
        self.floor.merge()
