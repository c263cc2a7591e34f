"""What publish, pull and ack cost after ten thousand commits, against what they cost after few."""

from __future__ import annotations

import time
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


def drift(bench: Bench) -> Section:
    """Time operations on tables of about 100 commits, and then of thousands."""
    commits, rounds = (10_000 if bench.full else 2_000), 5 * bench.rounds
    section = Section(
        "drift",
        f"Publishes of 10 messages, pull(10) and ack, in the medians of {rounds} rounds, after 100 "
        f"commits of the topic and of the ack state and after {commits:,} of both; in turn with an "
        "append of 10 rows and a ten-row MERGE on plain tables of as many commits. Most of those "
        "commits are copies of real ones, written by hand, with the four files that a commit has "
        "on a local disk; one in a thousand and the last are real and write a checkpoint. Nothing "
        'was maintained; then maintain(optimize=True, truncate_history="1m") ran.',
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    topic = store.create_topic("old")
    subscription = store.create_subscription("old", "old", ack_deadline_seconds=600)
    stored = [
        Path(bench.directory, "store", "messages", topic.uid),
        Path(bench.directory, "store", "ack_state", subscription.uid),
    ]
    floor = Floor(bench.spark, bench.directory)
    for table in (f"delta.`{floor.alike}`", floor.ten_rows):
        interval = f"'delta.checkpointInterval' = '{INTERVAL}'"
        bench.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({interval})")
    plain = [Path(floor.alike), Path(bench.directory, "ten_rows")]
    stages = {"100": 100, f"{commits:,}": commits}
    for stage, wanted in stages.items():
        age(stored, wanted, partial(_cycle, store))
        age(plain, wanted, partial(_plain_cycle, floor))
        _rounds(section, store, floor, f"after {stage}", rounds)
    time.sleep(2 * MINUTE)
    report = store.maintain(optimize=True, truncate_history=MINUTE)
    assert len(report.truncated) == len(stored), report
    _rounds(section, store, floor, "after maintain", rounds)
    for stage in (f"{commits:,}", "maintain"):
        for what in PLAIN:
            section.compare(
                f"{what} after {stage}: × after 100",
                [f"{what}, after {stage}"],
                [f"{what}, after 100"],
                at_most=1.3,
            )
    for what in dict.fromkeys(PLAIN.values()):
        section.compare(
            f"{what} after {commits:,}: × after 100",
            [f"{what}, after {commits:,}"],
            [f"{what}, after 100"],
        )
    for what, beside in PLAIN.items():
        for stage in stages:
            above, below = f"{what}, after {stage}", f"{beside}, after {stage}"
            section.compare(f"{what} after {stage}: × a {beside}", [above], [below])
    return section


def _cycle(store: PubSub) -> None:
    """Commit once to a topic, and twice to an ack state."""
    store.publish("old", ["x" * 64])
    store.pull("old", 1).ack()


def _plain_cycle(floor: Floor) -> None:
    floor.append_few([b"x" * 64])
    floor.merge()


def _rounds(section: Section, store: PubSub, floor: Floor, when: str, rounds: int) -> None:
    ten = [b"x" * 64] * 10
    for turn in range(rounds + 3):
        keep = turn > 2
        section.time(f"plain append, {when}", partial(floor.append_few, ten), keep=keep)
        section.time(f"publish, {when}", lambda: store.publish("old", ten), keep=keep)
        batch = section.time(f"pull, {when}", lambda: store.pull("old", 10), keep=keep)
        assert len(section.time(f"ack, {when}", batch.ack, keep=keep).success) == 10
        section.time(f"ten-row MERGE, {when}", floor.merge, keep=keep)
