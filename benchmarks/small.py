"""What operations cost whatever the number of messages, against an append and a MERGE."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.floor import Floor
from benchmarks.jobs import jobs_of
from benchmarks.measuring import Bench, Section
from pubsub_delta import ManualClock, PubSub


def publishing(bench: Bench) -> Section:
    """Publish 1 and 100 messages, beside an append of one file to a table of the same layout."""
    rounds = 8 * bench.rounds
    section = Section(
        "small publishes",
        f"Messages of 64 bytes given one by one; {rounds} rounds after four, in turn with appends "
        "of one file to a table of the same layout (partitioned by day, row tracking).",
    )
    floor = Floor(bench.spark, bench.directory)
    store = PubSub(bench.spark, f"{bench.directory}/store")
    store.create_topic("small")
    for turn in range(rounds + 4):
        for count in (1, 100):
            messages = [b"%064d" % n for n in range(count)]
            keep = turn >= 4
            section.time(f"append {count}", partial(floor.append_few, messages), keep=keep)
            section.time(f"publish {count}", partial(store.publish, "small", messages), keep=keep)
    for count in (1, 100):
        section.compare(
            f"publish of {count}: × an append of one file",
            [f"publish {count}"],
            [f"append {count}"],
            at_most=1.3,
        )
    return section


FIXED = {
    "pull(1000)": 2.5,
    "batch.ack()": 1.2,
    "acknowledge(1000 ids)": 1.6,
    "seek to a time": 1.6,
    "create_snapshot": 3.0,
}
"""Operations, and how many ten-row MERGEs they may take."""


def fixed(bench: Bench) -> Section:
    """Run each operation in turn with ten-row MERGEs, and count its Spark jobs."""
    rounds = 8 * bench.rounds
    section = Section(
        "fixed cost",
        f"A backlog of {bench.messages // 10:,} messages; {rounds} rounds after four: each "
        "publishes 1,000 more, pulls 1,000 and acknowledges them whole, pulls 1,000 and "
        "acknowledges their ids; seeks and snapshots are of another subscription; three MERGEs "
        "are timed in between, of which the round's median counts.",
    )
    floor, clock = Floor(bench.spark, bench.directory), ManualClock()
    store = PubSub(bench.spark, f"{bench.directory}/store", clock=clock)
    store.create_topic("fixed")
    for name in ("fixed", "replayed"):
        store.create_subscription(name, "fixed", ack_deadline_seconds=600)
    thousand = [b"%064d" % n for n in range(1000)]
    for _ in range(10):
        big = bench.spark.range(bench.messages // 100).selectExpr("CAST(id AS STRING) AS data")
        store.publish("fixed", big)
    store.pull("replayed", 1).ack()
    for turn in range(rounds + 4):
        keep = turn >= 4
        clock.advance(1)
        merges = Section("", "")
        store.publish("fixed", thousand)
        batch = section.time("pull(1000)", lambda: store.pull("fixed", 1000), keep=keep)
        merges.time("merge", floor.merge)
        assert len(section.time("batch.ack()", batch.ack, keep=keep).success) == 1000
        batch = section.time(
            "pull(1000), nothing new", lambda: store.pull("fixed", 1000), keep=keep
        )
        ids = [row["ack_id"] for row in batch.df.select("ack_id").collect()]
        merges.time("merge", floor.merge)
        result = section.time(
            "acknowledge(1000 ids)", partial(store.acknowledge, "fixed", ids), keep=keep
        )
        assert len(result.success) == 1000
        merges.time("merge", floor.merge)
        at, name = clock.now(), f"snapshot-{turn}"
        section.time("seek to a time", partial(store.seek, "replayed", time=at), keep=keep)
        section.time("the pull that carries it out", lambda: store.pull("replayed", 1), keep=keep)
        section.time("create_snapshot", partial(store.create_snapshot, name, "replayed"), keep=keep)
        section.add("ten-row MERGE", merges.median("merge"), keep=keep)
    for what, at_most in FIXED.items():
        section.compare(f"{what}: × one MERGE", [what], ["ten-row MERGE"], at_most=at_most)
    section.compare(
        "pull + ack, whole cycle: × one MERGE",
        ["pull(1000)", "batch.ack()"],
        ["ten-row MERGE"],
        at_most=3.7,
    )
    return section


def idle(bench: Bench) -> Section:
    """Pull where nothing is available: what it takes, and that nothing is committed."""
    section = Section("idling", "A pull of a subscription whose messages are all acknowledged.")
    store = PubSub(bench.spark, f"{bench.directory}/store")
    store.create_topic("idle")
    store.create_subscription("idle", "idle")
    store.publish("idle", ["one"])
    store.pull("idle").ack()
    floor = Floor(bench.spark, bench.directory)
    store.pull("idle")
    before, most = _commits(bench), 0
    for turn in range(8 * bench.rounds):
        jobs, batch = jobs_of(bench.spark, lambda: store.pull("idle"))
        assert batch.message_count == 0
        most = max(most, len(jobs)) if turn else most
        section.time("empty pull", lambda: store.pull("idle"), keep=turn > 0)
        section.time("ten-row MERGE", floor.merge, keep=turn > 0)
    section.facts["commits of all empty pulls"] = str(_commits(bench) - before)
    section.facts["Spark jobs of an empty pull (≤ 2)"] = str(most)
    section.compare("empty pull: × one MERGE", ["empty pull"], ["ten-row MERGE"])
    return section


def _commits(bench: Bench) -> int:
    """Return how many commits the store's tables have in all."""
    return len(list(Path(bench.directory, "store").rglob("_delta_log/*[0-9].json")))
