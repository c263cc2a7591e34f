"""Millions of messages: publish them, drain them, acknowledge a random half.

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
from pubsub_delta import ManualClock, PubSub


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
        "publish: rate of a plain Delta append", ["plain append"], ["publish"], at_least=0.9
    )
    section.compare(
        "· of one to a table of the same layout", ["plain append, same layout"], ["publish"]
    )
    section.compare("drain: rate of a plain scan and two ten-row MERGEs", floor, ours, at_least=0.8)
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
    """Acknowledge a random half of a lease by ids in a DataFrame, beside a drain of the same."""
    section = Section(
        "random acks",
        f"{bench.messages:,} messages; a random half of a lease is acknowledged by the ids in a "
        f"DataFrame, the rest comes again; {bench.rounds} rounds after a warm-up.",
    )
    clock = ManualClock()
    store = PubSub(bench.spark, f"{bench.directory}/store", clock=clock)
    store.create_topic("half")
    for turn in range(bench.rounds + 1):
        for each in ("half", "drain"):
            store.create_subscription(f"{each}-{turn}", "half", ack_deadline_seconds=600)
    store.publish("half", make_payloads(bench.spark, f"{bench.directory}/all", bench.messages))
    for turn in range(bench.rounds + 1):
        keep, name = turn > 0, f"half-{turn}"
        _drain_again(store, section, f"drain-{turn}", keep=keep)
        batch = store.pull(name)
        ids = batch.df.where(F.xxhash64("message_id") % 2 == 0).select("ack_id")
        acked = section.time("acknowledge a random half", partial(batch.ack, ids), keep=keep)
        count = acked.counts["success"]
        assert 0.49 * bench.messages < count < 0.51 * bench.messages
        clock.advance(600)
        rest = section.time("pull the other half", partial(store.pull, name), keep=keep)
        columns = rest.df.select(*COLUMNS)
        section.time("read the other half", partial(read_all, columns), keep=keep)
        assert rest.ack().counts["success"] == bench.messages - count
    section.compare(
        "random acks: rate of the drain, messages acknowledged",
        ["drain"],
        ["acknowledge a random half"],
        factor=0.5,
        at_least=0.5,
    )
    return section


def _drain_again(store: PubSub, section: Section, name: str, *, keep: bool) -> None:
    start = time.perf_counter()
    batch = store.pull(name)
    read_all(batch.df.select(*COLUMNS))
    batch.ack()
    section.add("drain", time.perf_counter() - start, keep=keep)


if __name__ == "__main__":
    from benchmarks.growth import backlog
    from benchmarks.running import main

    main({"drain": drain, "backlog": backlog})
