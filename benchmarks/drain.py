"""Publish, pull, read and acknowledge millions of messages, against the floor and the obvious way.

Everything runs in one process and one session, the compared things in turn, after one warm-up;
figures are medians with the smallest and largest of the runs, and what counts are the ratios.

    python benchmarks/drain.py [--messages 5000000] [--rounds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta import PubSub, local_session

COLUMNS = ("publish_time", "data", "attributes", "ordering_key")


@dataclass
class Stopwatch:
    """Seconds of every run, by what was timed."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def time(self, what: str, run: Callable[[], object], *, keep: bool = True) -> None:
        start = time.perf_counter()
        run()
        if keep:
            self.seconds.setdefault(what, []).append(time.perf_counter() - start)

    def median(self, what: str) -> float:
        return statistics.median(self.seconds[what])


def read_all(frame: DataFrame) -> None:
    """Read every row and column, and throw them away."""
    frame.write.format("noop").mode("overwrite").save()


def make_payloads(spark: SparkSession, path: str, count: int) -> DataFrame:
    """Write payloads of 48 bytes with one attribute once, so that all writers read the same."""
    payload = F.concat(F.lit("payload-"), F.lpad(F.col("id").cast("string"), 40, "0"))
    spark.range(count, numPartitions=2).select(
        payload.cast("binary").alias("data"),
        F.create_map(F.lit("k"), F.concat(F.lit("v"), (F.col("id") % 10).cast("string"))).alias(
            "attributes"
        ),
        F.lit(None).cast("string").alias("ordering_key"),
    ).write.mode("overwrite").parquet(path)
    return spark.read.parquet(path)


class Floor:
    """The least that could work: a plain Delta append, a plain scan, MERGEs on ten rows."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self.spark = spark
        self.log = f"{directory}/plain"
        self.alike = f"{directory}/plain_alike"
        self.ten_rows = f"delta.`{directory}/ten_rows`"
        spark.sql(
            f"CREATE TABLE delta.`{self.alike}` (publish_date DATE, publish_time TIMESTAMP, "
            "data BINARY, attributes MAP<STRING, STRING>, ordering_key STRING) USING DELTA "
            "PARTITIONED BY (publish_date) TBLPROPERTIES ('delta.enableRowTracking' = 'true', "
            "'delta.enableInCommitTimestamps' = 'true', 'delta.enableDeletionVectors' = 'true', "
            "'delta.dataSkippingStatsColumns' = 'publish_time')"
        )
        spark.sql(f"CREATE TABLE {self.ten_rows} (id BIGINT, value BIGINT) USING DELTA")
        spark.sql(f"INSERT INTO {self.ten_rows} SELECT id, 0 FROM range(10)")

    def rows(self, payloads: DataFrame) -> DataFrame:
        now = F.timestamp_micros(F.lit(time.time_ns() // 1000))
        return payloads.select(
            F.to_date(now).alias("publish_date"), now.alias("publish_time"), *payloads.columns
        )

    def append(self, payloads: DataFrame) -> None:
        self.rows(payloads).write.format("delta").mode("append").save(self.log)

    def merge_twice(self) -> None:
        self.merge()
        self.merge()

    def append_alike(self, payloads: DataFrame) -> None:
        """Append to a table laid out like a topic: partitioned by day, with row tracking."""
        self.rows(payloads).write.format("delta").mode("append").save(self.alike)

    def scan(self) -> None:
        read_all(self.spark.read.format("delta").load(self.log).select(*COLUMNS))

    def merge(self) -> None:
        self.spark.sql(
            f"MERGE INTO {self.ten_rows} AS old "
            "USING (SELECT id, id AS value FROM range(10)) AS new ON old.id = new.id "
            "WHEN MATCHED THEN UPDATE SET old.value = old.value + new.value"
        ).collect()


class RowPerMessageQueue:
    """The obvious design: a text id, and a row for each message to lease and ack by MERGE."""

    def __init__(self, spark: SparkSession, directory: str, payloads: DataFrame) -> None:
        self.spark = spark
        self.log = f"delta.`{directory}/row_per_message_log`"
        self.state = f"delta.`{directory}/row_per_message_state`"
        stored = payloads.select(
            F.expr("uuid()").alias("message_id"),
            F.timestamp_micros(F.lit(time.time_ns() // 1000)).alias("publish_time"),
            *payloads.columns,
        )
        stored.write.format("delta").save(f"{directory}/row_per_message_log")
        spark.sql(
            f"CREATE TABLE {self.state} "
            "(message_id STRING, lease STRING, until TIMESTAMP, acked BOOLEAN) USING DELTA"
        )

    def pull(self) -> None:
        """Lease every message that nobody has leased or acknowledged."""
        self.spark.sql(
            f"MERGE INTO {self.state} AS old USING (SELECT message_id FROM {self.log}) AS new "
            "ON old.message_id = new.message_id "
            "WHEN NOT MATCHED THEN INSERT (message_id, lease, until, acked) "
            "VALUES (new.message_id, 'lease-1', TIMESTAMP'2100-01-01 00:00:00', false)"
        ).collect()

    def read(self) -> None:
        """Read the messages of the lease."""
        columns = ", ".join(COLUMNS)
        leased = f"SELECT message_id FROM {self.state} WHERE lease = 'lease-1' AND NOT acked"
        read_all(
            self.spark.sql(
                f"SELECT {columns} FROM {self.log} LEFT SEMI JOIN ({leased}) USING (message_id)"
            )
        )

    def ack(self) -> None:
        """Acknowledge the ids of the lease."""
        ids = f"SELECT message_id FROM {self.log}"
        self.spark.sql(
            f"MERGE INTO {self.state} AS old USING ({ids}) AS new "
            "ON old.message_id = new.message_id AND old.lease = 'lease-1' "
            "WHEN MATCHED THEN UPDATE SET old.acked = true"
        ).collect()

    def drain(self) -> None:
        self.pull()
        self.read()
        self.ack()


def bulk(spark: SparkSession, directory: str, count: int, rounds: int) -> Stopwatch:
    """Publish and drain ``count`` messages, each round in a store of its own."""
    watch = Stopwatch()
    payloads = make_payloads(spark, f"{directory}/payloads", count)
    for turn in range(rounds + 1):
        one_round(spark, f"{directory}/round{turn}", payloads, count, watch, keep=turn > 0)
    queue = RowPerMessageQueue(spark, directory, payloads)
    watch.time("row-per-message queue", queue.drain)
    return watch


def one_round(
    spark: SparkSession,
    place: str,
    payloads: DataFrame,
    count: int,
    watch: Stopwatch,
    *,
    keep: bool,
) -> None:
    """Append, publish, scan, merge and drain once, in tables of its own."""
    floor = Floor(spark, place)
    store = PubSub(spark, f"{place}/store")
    store.create_topic("bulk")
    store.create_subscription("drain", "bulk", ack_deadline_seconds=600)
    assert store.pull("drain").message_count == 0  # a consumer that is running already
    watch.time("plain append", partial(floor.append, payloads), keep=keep)
    watch.time("plain append, same layout", partial(floor.append_alike, payloads), keep=keep)
    watch.time("publish", partial(store.publish, "bulk", payloads), keep=keep)
    for _ in range(3):
        floor.merge()
    watch.time("plain scan", floor.scan, keep=keep)
    watch.time("two ten-row MERGEs", floor.merge_twice, keep=keep)

    def drain() -> None:
        start = time.perf_counter()
        batch = store.pull("drain")
        pulled = time.perf_counter()
        read_all(batch.df.select(*COLUMNS))
        read = time.perf_counter()
        result = batch.ack()
        if keep:
            watch.seconds.setdefault("· pull", []).append(pulled - start)
            watch.seconds.setdefault("· read", []).append(read - pulled)
            watch.seconds.setdefault("· ack", []).append(time.perf_counter() - read)
        assert batch.message_count == len(result.success) == count

    watch.time("pull + read + ack", drain, keep=keep)
    assert store.metrics("drain")["num_undelivered_messages"] == 0
    shutil.rmtree(place)


def thousand(spark: SparkSession, directory: str, sizes: tuple[int, int], rounds: int) -> Stopwatch:
    """Pull, read and acknowledge 1,000 messages, in turn from a small and a large backlog."""
    watch = Stopwatch()
    store = PubSub(spark, f"{directory}/thousand")
    for size in sizes:
        payloads = make_payloads(spark, f"{directory}/payloads{size}", size)
        store.create_topic(f"backlog-{size}")
        store.create_subscription(f"backlog-{size}", f"backlog-{size}", ack_deadline_seconds=600)
        store.publish(f"backlog-{size}", payloads)
    for turn in range(rounds * 3 + 2):
        for size in sizes:

            def cycle(size: int = size) -> None:
                batch = store.pull(f"backlog-{size}", 1000)
                read_all(batch.df.select(*COLUMNS))
                assert len(batch.ack().success) == 1000

            if turn < size // 1000 - 1:
                watch.time(f"pull(1000) + ack at {size:,}", cycle, keep=turn > 1)
    return watch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=5_000_000, help="default: 5,000,000")
    parser.add_argument("--rounds", type=int, default=3, help="counted runs, default: 3")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    spark = local_session(driver_memory="4g", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    directory = tempfile.mkdtemp(prefix="pubsub_delta-drain-")
    try:
        watch = bulk(spark, directory, args.messages, args.rounds)
        small = max(args.messages // 1000, 5000)
        cycles = thousand(spark, directory, (small, args.messages), args.rounds)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    watch.seconds.update(cycles.seconds)
    floor = watch.median("plain scan") + watch.median("two ten-row MERGEs")
    at = "pull(1000) + ack at "
    ratios = {
        "bulk publish: rate of a plain append to an unpartitioned table (≥ 0.9)": watch.median(
            "plain append"
        )
        / watch.median("publish"),
        "· of one to a table of the same layout (≥ 0.9)": watch.median("plain append, same layout")
        / watch.median("publish"),
        "drain: × (plain scan + two ten-row MERGEs) (≤ 1.5)": watch.median("pull + read + ack")
        / floor,
        "drain: times faster than a row per message (≥ 10)": watch.median("row-per-message queue")
        / watch.median("pull + read + ack"),
        f"pull(1000) + ack: × at {args.messages:,} against {small:,} (≤ 1.5)": watch.median(
            f"{at}{args.messages:,}"
        )
        / watch.median(f"{at}{small:,}"),
    }
    report(watch, ratios, args.messages, args.rounds)
    if args.json:
        args.json.write_text(
            json.dumps({"seconds": watch.seconds, "ratios": ratios}, indent=2, ensure_ascii=False)
        )


def report(watch: Stopwatch, ratios: dict[str, float], messages: int, rounds: int) -> None:
    print(
        f"\n{messages:,} messages of 48 bytes with one attribute; {rounds} counted rounds "
        f"after one warm-up;\n{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, local[2], local disk\n"
    )
    print("| what | median s | min | max |\n|---|---:|---:|---:|")
    for what, seconds in watch.seconds.items():
        median = statistics.median(seconds)
        print(f"| {what} | {median:.2f} | {min(seconds):.2f} | {max(seconds):.2f} |")
    print("\n| ratio (target) | measured |\n|---|---:|")
    for what, ratio in ratios.items():
        print(f"| {what} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
