"""Millions of messages: publish them, drain them, acknowledge a random half, pull in the middle.

python benchmarks/drain.py [--messages 5000000] [--rounds 3] [--json FILE]
"""

from __future__ import annotations

import shutil
import time
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.floor import COLUMNS, Floor, RowPerMessageQueue, make_payloads, read_all
from benchmarks.measuring import Bench, Section
from pubsub_delta import ManualClock, PubSub, PulledBatch

WINDOW = 1000
"""Messages of the middle that are pulled at a time."""


def drain(bench: Bench) -> Section:
    """Publish and drain, each round in a store of its own, beside a plain append and scan."""
    section = Section(
        "drain",
        f"{bench.messages:,} messages of 48 bytes with one attribute, {bench.rounds} rounds after "
        "a warm-up, each in a store of its own. The consumer runs already when they come.",
    )
    payloads = make_payloads(bench.spark, f"{bench.directory}/payloads", bench.messages)
    for turn in range(bench.rounds + 1):
        _drain_once(bench, section, f"{bench.directory}/round{turn}", payloads, keep=turn > 0)
    queue = RowPerMessageQueue(bench.spark, bench.directory, payloads)
    section.time("row-per-message queue", queue.drain)
    ours, floor = ["· pull", "· read", "· ack"], ["plain scan", "two ten-row MERGEs"]
    section.compare(
        "publish: rate of a plain append to the same layout",
        ["plain append, same layout"],
        ["publish"],
        at_least=1,
    )
    section.compare("· of one without partitions or positions", ["plain append"], ["publish"])
    section.compare("drain: rate of a plain scan and two ten-row MERGEs", floor, ours, at_least=1)
    section.compare(
        "drain: times as fast as a row per message", ["row-per-message queue"], ours, at_least=10
    )
    rate = bench.messages / sum(section.median(each) for each in ours)
    section.facts["published, messages a second"] = (
        f"{bench.messages / section.median('publish'):,.0f}"
    )
    section.facts["drained, messages a second"] = f"{rate:,.0f}"
    return section


def _drain_once(
    bench: Bench, section: Section, place: str, payloads: DataFrame, *, keep: bool
) -> None:
    floor = Floor(bench.spark, place)
    store = PubSub(bench.spark, f"{place}/store")
    store.create_topic("bulk")
    store.create_subscription("drain", "bulk", ack_deadline_seconds=600)
    assert store.pull("drain").message_count == 0  # a consumer that is running already
    section.time("plain append", lambda: floor.append(payloads), keep=keep)
    section.time("plain append, same layout", lambda: floor.append_alike(payloads), keep=keep)
    section.time("publish", lambda: store.publish("bulk", payloads), keep=keep)
    for _ in range(3):
        floor.merge()
    section.time("plain scan", floor.scan, keep=keep)
    section.time("two ten-row MERGEs", floor.merge_twice, keep=keep)
    batch = section.time("· pull", lambda: store.pull("drain"), keep=keep)
    section.time("· read", lambda: read_all(batch.df.select(*COLUMNS)), keep=keep)
    result = section.time("· ack", batch.ack, keep=keep)
    assert batch.message_count == len(result.success) == bench.messages
    assert store.metrics("drain")["num_undelivered_messages"] == 0
    shutil.rmtree(place)


def random_acks(bench: Bench) -> Section:
    """Acknowledge a random half of a lease by a condition, beside a drain of the same."""
    section = Section(
        "random acks",
        f"{bench.messages:,} messages; a random half of a lease is acknowledged by a condition on "
        "the message id, and in turn by the ids in a DataFrame; the rest comes again; "
        f"{bench.rounds} rounds after a warm-up.",
    )
    clock = ManualClock()
    store = PubSub(bench.spark, f"{bench.directory}/store", clock=clock)
    store.create_topic("half")
    for turn in range(bench.rounds + 1):
        for each in ("where", "ids", "drain"):
            store.create_subscription(f"{each}-{turn}", "half", ack_deadline_seconds=600)
    store.publish("half", make_payloads(bench.spark, f"{bench.directory}/all", bench.messages))
    for turn in range(bench.rounds + 1):
        keep = turn > 0
        _drain_again(store, section, f"drain-{turn}", keep=keep)
        for how in ("where", "ids"):
            name = f"{how}-{turn}"
            batch = store.pull(name)
            acknowledge = partial(_acknowledge_half, batch, how)
            count = section.time(f"acknowledge a random half by {how}", acknowledge, keep=keep)
            assert 0.49 * bench.messages < count < 0.51 * bench.messages
            clock.advance(600)
            rest = section.time("pull the other half", partial(store.pull, name), keep=keep)
            columns = rest.df.select(*COLUMNS)
            section.time("read the other half", partial(read_all, columns), keep=keep)
            assert rest.ack().counts["success"] == bench.messages - count
    for how, at_least in (("where", 0.6), ("ids", None)):
        section.compare(
            f"random acks by {how}: rate of the drain, messages acknowledged",
            ["drain"],
            [f"acknowledge a random half by {how}"],
            factor=0.5,
            at_least=at_least,
        )
    return section


def _acknowledge_half(batch: PulledBatch, how: str) -> int:
    """Acknowledge a random half of a batch; return how many messages that were."""
    condition = F.xxhash64("message_id") % 2 == 0
    if how == "where":
        return batch.ack(where=condition).counts["success"]
    return batch.ack(batch.df.where(condition).select("ack_id")).counts["success"]


def _drain_again(store: PubSub, section: Section, name: str, *, keep: bool) -> None:
    start = time.perf_counter()
    batch = store.pull(name)
    read_all(batch.df.select(*COLUMNS))
    batch.ack()
    section.add("drain", time.perf_counter() - start, keep=keep)


def windows(bench: Bench) -> Section:
    """Pull a thousand messages of the middle and read them, beside a plain read of the same rows.

    The plain read knows the positions, and asks the same table for them.
    """
    rounds = 3 * bench.rounds
    section = Section(
        "windows",
        f"{bench.messages:,} messages published as one DataFrame, of which half are acknowledged; "
        f"the next {WINDOW:,} are pulled and read into this process, and read as a DataFrame; "
        f"{rounds} rounds after a warm-up.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    topic = store.create_topic("windows")
    store.create_subscription("windows", "windows", ack_deadline_seconds=600)
    store.publish("windows", make_payloads(bench.spark, f"{bench.directory}/all", bench.messages))
    store.pull("windows", bench.messages // 2).ack()
    table = f"{bench.directory}/store/messages/{topic.uid}"
    for turn in range(rounds + 1):
        keep = turn > 0
        batch = section.time("pull(1000)", lambda: store.pull("windows", WINDOW), keep=keep)
        rows = section.time("· read into this process", batch.arrow, keep=keep)
        columns = batch.df.select(*COLUMNS)
        section.time("· read as a DataFrame", partial(read_all, columns), keep=keep)
        positions = sorted(map(int, rows["message_id"].to_pylist()))
        assert len(positions) == WINDOW
        between = F.col("position").between(positions[0], positions[-1])
        plain = bench.spark.read.format("delta").load(table).where(between).select(*COLUMNS)
        section.time("plain read of the same rows", partial(read_all, plain), keep=keep)
        assert len(batch.ack().success) == WINDOW
    for how in ("read into this process", "read as a DataFrame"):
        section.compare(
            f"pull and {how}: × a plain read of the same rows",
            ["pull(1000)", f"· {how}"],
            ["plain read of the same rows"],
        )
    return section


if __name__ == "__main__":
    from benchmarks.growth import backlog
    from benchmarks.running import main

    main({"drain": drain, "backlog": backlog})
