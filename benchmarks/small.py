"""What people wait for: small operations in both lanes, against what Spark and Delta take for them.

Both lanes and the floor take turns in one run, on one disk. The direct lane is a store without
Spark. The floor is a plain append of one file of 100 rows to a table of the same layout, a MERGE of
ten rows, and a read of 100 rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from pyspark.sql import SparkSession

from benchmarks.floor import Floor
from benchmarks.jobs import jobs_of
from benchmarks.latency import publish_to_callback
from benchmarks.measuring import Bench, Section
from pubsub_delta import ManualClock, PubSub

ROUNDS, WARM_UPS = 8, 4
"""Rounds for each that is asked for, and those that do not count."""
FEW, MANY = 100, 1000
APPEND, MERGE, READ = "plain append of 100 rows", "ten-row MERGE", "plain read of 100 rows"
WHOLE = "publish(100), pull, read, ack"
CYCLE = ("publish of 100", "· its pull", "· its read", "· its ack")
CYCLE_FLOOR = [APPEND, MERGE, MERGE, READ]

T = TypeVar("T")
Lane = Literal["direct", "spark"]
_LANES: tuple[Lane, ...] = ("direct", "spark")

TARGETS: dict[Lane, dict[str, float | None]] = {
    "direct": {
        "publish of 1": 0.15,
        "publish of 100": 0.15,
        "pull(1000)": 0.15,
        "batch.ack()": 0.12,
        "acknowledge(1000 ids)": 0.12,
        "seek to a time": 0.12,
        "create_snapshot": 0.3,
        WHOLE: 0.15,
    },
    "spark": {
        "publish of 1": None,
        "publish of 100": None,
        "pull(1000)": 1.2,
        "batch.ack()": 1.2,
        "acknowledge(1000 ids)": 1.2,
        "seek to a time": None,
        "create_snapshot": 3,
        WHOLE: None,
    },
}
"""How many times what Spark and Delta take for the same each operation may take, by lane."""


def small_work(bench: Bench) -> Section:
    """Run each small operation in each lane, in turn with plain Delta; then callbacks."""
    rounds = ROUNDS * bench.rounds
    section = Section(
        "small work",
        f"Messages of 64 bytes given one by one; {rounds} rounds after {WARM_UPS}, each of the "
        "direct lane (a store without Spark), the Spark lane and plain Delta in turn, another one "
        f"first in each round: publishes 1 and {FEW}, pulls, reads and acknowledges them; then "
        f"publishes {MANY:,}, pulls them and acknowledges the batch; then their ids; seeks and "
        "snapshots are of another subscription. Then messages one at a time through a server with "
        "its default settings and one client of Google's.",
    )
    turns: deque[_Store | _Floor] = deque(
        [
            _Store(None, bench.directory, "direct"),
            _Store(bench.spark, bench.directory, "spark"),
            _Floor(Floor(bench.spark, bench.directory)),
        ]
    )
    for turn in range(rounds + WARM_UPS):
        for each in turns:
            each.round(section, turn, keep=turn >= WARM_UPS)
        turns.rotate()
    for lane in _LANES:
        _compare(section, lane)
    latencies = publish_to_callback(bench, 20 * bench.rounds)
    section.seconds["publish to callback through the server"] = latencies
    median = section.median("publish to callback through the server")
    section.ratio("publish to callback through the server, p50 ms", 1000 * median, 150)
    return section


def _compare(section: Section, lane: Lane) -> None:
    for what, at_most in TARGETS[lane].items():
        if what == WHOLE:
            above, below = [*CYCLE], CYCLE_FLOOR
        elif what.startswith("publish"):
            above, below = [what], [APPEND]
        else:
            above, below = [what], [MERGE]
        beside = "an append, two MERGEs and a read" if len(below) > 1 else f"a {below[0]}"
        section.compare(
            f"{lane}: {what}: × {beside}",
            [f"{lane}: {each}" for each in above],
            below,
            at_most=at_most,
        )


class _Floor:
    """Plain Delta, by Spark."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor

    def round(self, section: Section, turn: int, *, keep: bool) -> None:
        few, merges = _payloads(turn, FEW), Section("", "")
        section.time(APPEND, partial(self._floor.append_few, few), keep=keep)
        section.time(READ, partial(self._floor.read_last, FEW), keep=keep)
        for _ in range(3):
            merges.time(MERGE, self._floor.merge)
        section.add(MERGE, merges.median(MERGE), keep=keep)


class _Store:
    """A store in one lane, and what is done with it in a round."""

    def __init__(self, spark: SparkSession | None, root: str, lane: Lane) -> None:
        self._lane = lane
        self._clock = ManualClock()
        self._store = PubSub(spark, f"{root}/{lane}", clock=self._clock, lane=lane)
        self._store.create_topic("small")
        for name in ("small", "replayed"):
            self._store.create_subscription(name, "small", ack_deadline_seconds=600)

    def round(self, section: Section, turn: int, *, keep: bool) -> None:
        store, many = self._store, _payloads(turn, MANY)

        def timed(what: str, run: Callable[[], T]) -> T:
            return section.time(f"{self._lane}: {what}", run, keep=keep)

        self._clock.advance(1)
        timed("publish of 1", lambda: store.publish("small", _payloads(turn, 1)))
        timed("publish of 100", partial(store.publish, "small", _payloads(turn, FEW)))
        batch = timed("· its pull", lambda: store.pull("small"))
        assert timed("· its read", batch.arrow).num_rows == FEW + 1
        assert len(timed("· its ack", batch.ack).success) == FEW + 1
        store.publish("small", many)
        batch = timed("pull(1000)", lambda: store.pull("small", MANY))
        assert len(timed("batch.ack()", batch.ack).success) == MANY
        store.publish("small", many)
        ids = store.pull("small", MANY).arrow()["ack_id"].to_pylist()
        acked = timed("acknowledge(1000 ids)", partial(store.acknowledge, "small", ids))
        assert len(acked.success) == MANY
        at, name = self._clock.now(), f"snapshot-{turn}"
        timed("seek to a time", partial(store.seek, "replayed", time=at))
        timed("· the pull that carries it out", lambda: store.pull("replayed", 1))
        timed("create_snapshot", partial(store.create_snapshot, name, "replayed"))


def _payloads(turn: int, count: int) -> list[bytes]:
    return [b"%064d" % (turn * count + n) for n in range(count)]


def idle(bench: Bench) -> Section:
    """Pull where nothing is available: what it takes, and that nothing is committed."""
    section = Section(
        "idling", "A pull of a subscription whose messages are all acknowledged, in both lanes."
    )
    floor = Floor(bench.spark, bench.directory)
    stores = {
        "direct": PubSub(None, f"{bench.directory}/direct", lane="direct"),
        "spark": PubSub(bench.spark, f"{bench.directory}/spark", lane="spark"),
    }
    for store in stores.values():
        store.create_topic("idle")
        store.create_subscription("idle", "idle")
        store.publish("idle", ["one"])
        store.pull("idle").ack()
        store.pull("idle")
    before, most = _commits(bench), 0
    for turn in range(ROUNDS * bench.rounds):
        jobs, batch = jobs_of(bench.spark, lambda: stores["spark"].pull("idle"))
        assert batch.message_count == 0
        most = max(most, len(jobs)) if turn else most
        for lane, store in stores.items():
            section.time(f"{lane}: empty pull", partial(store.pull, "idle"), keep=turn > 0)
        section.time(MERGE, floor.merge, keep=turn > 0)
    section.facts["commits of all empty pulls"] = str(_commits(bench) - before)
    section.facts["Spark jobs of an empty pull in the Spark lane"] = str(most)
    for lane in stores:
        section.compare(f"{lane}: empty pull: × a {MERGE}", [f"{lane}: empty pull"], [MERGE])
    return section


def _commits(bench: Bench) -> int:
    """Return how many commits the stores' tables have in all."""
    root = Path(bench.directory)
    return sum(len(list((root / each).rglob("_delta_log/*[0-9].json"))) for each in _LANES)
