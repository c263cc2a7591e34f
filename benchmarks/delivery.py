"""Partial acks of millions of messages, and a hundred thousand ordering keys, step by step.

Nothing here moves an id or a key through the driver: what is named by a DataFrame is folded into
bitmaps where it is. Each step is timed once; the counts are checked.

    python benchmarks/delivery.py [--messages 5000000] [--keys 100000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from drain import make_payloads, read_all
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pubsub_delta import ManualClock, PubSub, local_session

T = TypeVar("T")


class Steps:
    """Times steps, each by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def run(self, what: str, step: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = step()
        self.seconds[what] = time.perf_counter() - start
        return result


def partial_acks(
    store: PubSub, clock: ManualClock, spark: SparkSession, payloads: str, count: int
) -> Steps:
    """Lease everything, acknowledge a random half of it by id, and take the rest again."""
    steps = Steps()
    store.create_topic("partial")
    store.create_subscription("partial", "partial", ack_deadline_seconds=600)
    store.publish("partial", make_payloads(spark, payloads, count))
    batch = steps.run("lease all", lambda: store.pull("partial"))
    half = batch.df.where(F.xxhash64("message_id") % 2 == 0).select("ack_id")
    acked = steps.run("acknowledge a random half", lambda: batch.ack(half)).counts["success"]
    assert 0.49 * count < acked < 0.51 * count
    clock.advance(600)
    rest = steps.run("lease the other half", lambda: store.pull("partial"))
    steps.run("read the other half", lambda: read_all(rest.df.select("data", "attributes")))
    again = rest.df.where(F.xxhash64("message_id") % 2 == 0).count()
    assert (again, rest.message_count) == (0, count - acked)
    assert rest.ack().counts["success"] == count - acked
    return steps


def many_keys(store: PubSub, spark: SparkSession, count: int, keys: int) -> Steps:
    """Publish in order, take a little, and see that only its keys hold up what follows."""
    steps = Steps()
    store.create_topic("ordered")
    store.create_subscription(
        "ordered", "ordered", ack_deadline_seconds=600, enable_message_ordering=True
    )
    messages = spark.range(count, numPartitions=2).select(
        F.col("id").cast("string").alias("data"),
        F.concat(F.lit("key-"), F.pmod(F.xxhash64("id"), F.lit(keys))).alias("ordering_key"),
        "id",
    )
    steps.run("publish in order", lambda: store.publish("ordered", messages, order_by="id"))
    first = steps.run("pull(10,000), nothing outstanding", lambda: store.pull("ordered", 10_000))
    held = first.df.select("ordering_key").distinct()
    second = steps.run("pull(10,000) past those keys", lambda: store.pull("ordered", 10_000))
    assert second.message_count == 10_000
    assert second.df.join(held, "ordering_key", "left_semi").count() == 0
    failing = first.df.where(F.xxhash64("message_id") % 10 == 0).select("ack_id")
    steps.run("nack a tenth of the first batch", lambda: first.nack(failing))
    rest = steps.run("pull all that may come", lambda: store.pull("ordered"))
    steps.run("read it, each key in order", lambda: read_all(rest.df.select("data")))
    steps.run("acknowledge it", rest.ack)
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=5_000_000, help="default: 5,000,000")
    parser.add_argument("--keys", type=int, default=100_000, help="default: 100,000")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    spark = local_session(driver_memory="4g", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    root, clock = tempfile.mkdtemp(prefix="pubsub_delta-delivery-"), ManualClock()
    try:
        store = PubSub(spark, root, clock=clock)
        acks = partial_acks(store, clock, spark, f"{root}/payloads", args.messages)
        ordered = many_keys(store, spark, args.keys * 10, args.keys)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for title, steps in (
        (f"{args.messages:,} messages", acks),
        (f"{args.keys * 10:,} messages with {args.keys:,} keys", ordered),
    ):
        print(f"\n| {title} | s |\n|---|---:|")
        for what, seconds in steps.seconds.items():
            print(f"| {what} | {seconds:.2f} |")
    if args.json:
        args.json.write_text(json.dumps([acks.seconds, ordered.seconds], indent=2))


if __name__ == "__main__":
    main()
