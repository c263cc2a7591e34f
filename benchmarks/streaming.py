"""Streaming: micro-batches against plain Structured Streaming, callbacks, and single publishes.

Micro-batch overhead is everything that is neither reading messages nor ``process``: the time from
the end of one ``process`` to the start of the next, against two MERGEs on a ten-row table that are
timed in between. The drains copy the topic to a Delta table in micro-batches of a tenth, in turn
by ``subscribe_stream``, by ``format("pubsub_delta")`` and by a plain stream over the topic's table
with the same sink.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.floor import COLUMNS, Floor, make_payloads
from benchmarks.measuring import Bench, Section
from pubsub_delta import FlowControl, PubSub, PulledMessage

BATCHES = 10
SMALL_BATCHES, WARM_UPS = 24, 6
COLUMN_TYPES = (
    "publish_time TIMESTAMP, data BINARY, attributes MAP<STRING, STRING>, ordering_key STRING"
)
"""Those of COLUMNS: the data source API tells no reader which columns a query needs."""


def streaming(bench: Bench) -> Section:
    """Drain in micro-batches beside a plain stream, call callbacks, and publish one by one."""
    count = bench.messages // 2
    section = Section(
        "streaming",
        f"Drains of {count:,} messages in {BATCHES} micro-batches, {bench.rounds} rounds after a "
        f"warm-up; overhead of {SMALL_BATCHES - WARM_UPS} small micro-batches after {WARM_UPS}.",
    )
    overhead(bench.spark, f"{bench.directory}/overhead", section)
    drains(bench.spark, f"{bench.directory}/drains", count, bench.rounds, section)
    rate, most = callbacks(bench.spark, f"{bench.directory}/callbacks")
    commits, seconds = singles(bench.spark, f"{bench.directory}/singles")
    section.compare(
        "micro-batch overhead: × two ten-row MERGEs",
        ["micro-batch overhead"],
        ["two ten-row MERGEs"],
        at_most=1,
    )
    section.compare(
        "drain: rate of plain Structured Streaming",
        ["plain stream"],
        ["subscribe_stream"],
        at_least=0.75,
    )
    section.compare(
        "drain through the data source: rate of plain Structured Streaming",
        ["plain stream"],
        ["data source"],
        at_least=0.7,
    )
    section.facts["callbacks a second, each acknowledged by itself (≥ 5,000)"] = f"{rate:,.0f}"
    section.facts["messages held at most, of 10,000 permitted"] = f"{most:,}"
    told = f"{commits}, in {seconds:.1f} s"
    section.facts["commits of 1,000 single publishes from 8 threads (≤ 20)"] = told
    return section


def overhead(spark: SparkSession, place: str, watch: Section) -> None:
    """Time what is between the end of ``process`` and the next one, and MERGEs in between."""
    floor, store = Floor(spark, place), PubSub(spark, f"{place}/store")
    store.create_topic("small")
    store.create_subscription("small", "small", ack_deadline_seconds=600)
    for _ in range(3):
        store.publish("small", [f"{n}" for n in range(SMALL_BATCHES * 10 // 3)])
    ended: list[float] = []

    def process(_: DataFrame, batch_id: int) -> None:
        began = time.perf_counter()
        if ended and batch_id > WARM_UPS:
            watch.seconds.setdefault("micro-batch overhead", []).append(began - ended[-1])
        watch.time("two ten-row MERGEs", floor.merge_twice, keep=batch_id > WARM_UPS)
        ended.append(time.perf_counter())

    finish(store.subscribe_stream, "small", process, f"{place}/checkpoint", max_messages=10)


def finish(subscribe: Callable[..., Any], name: str, process: Any, at: str, **more: Any) -> None:
    trigger = {"availableNow": True}
    query = subscribe(name, process, checkpoint_location=at, trigger=trigger, **more)
    query.awaitTermination()


def drains(spark: SparkSession, root: str, count: int, rounds: int, watch: Section) -> None:
    """Copy the topic to a Delta table, in turn by two subscriptions and by a plain stream."""
    store = PubSub(spark, f"{root}/store")
    topic = store.create_topic("bulk")
    for turn in range(rounds + 1):
        store.create_subscription(f"drain-{turn}", "bulk", ack_deadline_seconds=600)
        store.create_subscription(f"source-{turn}", "bulk", ack_deadline_seconds=600)
    payloads = make_payloads(spark, f"{root}/payloads", count // BATCHES)
    for _ in range(BATCHES):
        store.publish("bulk", payloads)
    table = f"{root}/store/messages/{topic.uid}"
    files = len(spark.read.format("delta").load(table).inputFiles())

    def ours(turn: int) -> None:
        at = f"{root}/ours-{turn}"
        process = partial(write, f"{at}/out")
        most = count // BATCHES
        finish(store.subscribe_stream, f"drain-{turn}", process, f"{at}/c", max_messages=most)
        assert spark.read.format("delta").load(f"{at}/out").count() == count

    def source(turn: int) -> None:
        at = f"{root}/source-{turn}"
        reader = spark.readStream.format("pubsub_delta").option("subscription", f"source-{turn}")
        reader = reader.option("maxMessagesPerTrigger", count // BATCHES).schema(COLUMN_TYPES)
        rows = reader.load(f"{root}/store")
        writer = rows.writeStream.foreachBatch(partial(write, f"{at}/out"))
        started = writer.option("checkpointLocation", f"{at}/c").trigger(availableNow=True)
        started.start().awaitTermination()
        assert spark.read.format("delta").load(f"{at}/out").count() == count

    def plain(turn: int) -> None:
        at = f"{root}/plain-{turn}"
        stream = spark.readStream.format("delta").option("maxFilesPerTrigger", files // BATCHES)
        writer = stream.load(table).writeStream.foreachBatch(partial(write, f"{at}/out"))
        started = writer.option("checkpointLocation", f"{at}/c").trigger(availableNow=True)
        started.start().awaitTermination()
        assert spark.read.format("delta").load(f"{at}/out").count() == count

    for turn in range(rounds + 1):
        watch.time("plain stream", partial(plain, turn), keep=turn > 0)
        watch.time("subscribe_stream", partial(ours, turn), keep=turn > 0)
        watch.time("data source", partial(source, turn), keep=turn > 0)


def write(path: str, rows: DataFrame, batch_id: int) -> None:
    writer = rows.select(*COLUMNS).write.format("delta").mode("append")
    writer.option("txnAppId", "benchmark").option("txnVersion", batch_id).save(path)


def callbacks(spark: SparkSession, root: str, count: int = 100_000) -> tuple[float, int]:
    """Return how many messages a second callbacks handle, and how many are held at most."""
    store = PubSub(spark, f"{root}/store")
    store.create_topic("calls")
    store.create_subscription("calls", "calls", ack_deadline_seconds=60)
    store.publish("calls", make_payloads(spark, f"{root}/payloads", count))
    done, lock = threading.Event(), threading.Lock()
    handled, started, most = 0, 0.0, 0

    def callback(message: PulledMessage) -> None:
        nonlocal handled, started
        message.ack()
        with lock:
            handled += 1
            if handled == count // 5:  # the first ones warm the session up
                started = time.perf_counter()
            if handled == count:
                done.set()

    with store.subscribe("calls", callback, flow_control=FlowControl(max_messages=10_000)):
        while not done.wait(0.2):
            most = max(most, store.metrics("calls")["num_outstanding_messages"])
        seconds = time.perf_counter() - started
    assert store.metrics("calls")["num_undelivered_messages"] == 0
    return (count - count // 5) / seconds, most


def singles(spark: SparkSession, root: str) -> tuple[int, float]:
    """Publish 1,000 messages one by one from 8 threads; return the commits and the seconds."""
    store = PubSub(spark, f"{root}/store")
    topic = store.create_topic("singles")
    store.publish("singles", ["to warm up"])
    start = time.perf_counter()
    with store.publisher("singles") as publisher, ThreadPoolExecutor(8) as threads:
        futures = list(threads.map(lambda n: publisher.publish(f"{n}"), range(1000)))
        ids = {future.result() for future in futures}
    seconds = time.perf_counter() - start
    assert len(ids) == 1000
    history = spark.sql(f"DESCRIBE HISTORY delta.`{root}/store/messages/{topic.uid}`")
    return history.count() - 2, seconds
