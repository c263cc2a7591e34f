"""Streaming queries as processes: killed at random moments, and two on one subscription."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.acceptance.processes import python

pytestmark = [pytest.mark.trial, pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("KILLS", "20"))
FILES, ROWS_PER_FILE = 60, 25

COMMON = """
import sys
from concurrent.futures import Future
from pubsub_delta import PubSub, local_session
spark = local_session(driver_memory="1g", master="local[2]")
base, mode = sys.argv[1], sys.argv[2]
store = PubSub(spark, base + "/store")
trigger = {"availableNow": True} if mode == "drain" else {"processingTime": "0 seconds"}
def follow(query):
    print("ready", flush=True)
    seen = -1
    while query.isActive:
        query.awaitTermination(0.1)
        done = query.lastProgress["batchId"] if query.lastProgress else -1
        if done > seen:
            print("ended", done, flush=True)
        seen = done
"""

CONSUMER = (
    COMMON
    + """
name = sys.argv[3]
started = Future()
def write(messages, batch_id):
    rows = messages.selectExpr("cast(data AS string) AS n", "message_id", f"{batch_id} AS batch")
    writer = rows.coalesce(1).write.format("delta").mode("append").option("txnVersion", batch_id)
    writer.option("txnAppId", started.result().id).save(base + "/out-" + name)
query = store.subscribe_stream("sub", write, checkpoint_location=base + "/consumer-" + name,
                               trigger=trigger, max_messages=40)
started.set_result(query)
follow(query)
"""
)

PUBLISHER = (
    COMMON
    + """
rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(base + "/in")
query = store.publish_stream("topic", rows, checkpoint_location=base + "/publisher",
                             trigger=trigger)
follow(query)
"""
)


def start(script: str, base: Path, mode: str, *args: str) -> subprocess.Popen[str]:
    process = python(script, str(base), mode, *args, cwd=base)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill_again_and_again(script: str, base: Path, seed: int, *args: str) -> int:
    """Start a query, kill it at a random moment, and again; return how many batches it told of."""
    chance, told = random.Random(seed), 0
    for _ in range(KILLS):
        process = start(script, base, "follow", *args)
        assert process.stdout is not None
        for _ in range(chance.randrange(3)):  # the first batches of a process take long
            assert process.stdout.readline().startswith("ended"), "it ended by itself"
            told += 1
        time.sleep(chance.uniform(0, 3))
        assert process.poll() is None, "it ended by itself"
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return told


def finish(script: str, base: Path, *args: str) -> None:
    process = start(script, base, "drain", *args)
    process.communicate(timeout=600)
    assert process.returncode == 0


def test_killed_queries_publish_and_process_every_message_exactly_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "killed (SIGKILL) at least 20 times at random moments, restarted, and the result holds every
    # message exactly once"
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("topic")
    store.create_subscription("sub", "topic", ack_deadline_seconds=10)
    total = FILES * ROWS_PER_FILE
    numbers = spark.range(0, total, 1, FILES).selectExpr("cast(id AS string) AS data")
    numbers.write.format("delta").save(str(tmp_path / "in"))
    with ThreadPoolExecutor(2) as both:
        publishing = both.submit(kill_again_and_again, PUBLISHER, tmp_path, 1)
        consuming = both.submit(kill_again_and_again, CONSUMER, tmp_path, 2, "one")
        publishing.result()
        ended = consuming.result()
    finish(PUBLISHER, tmp_path)
    published = store.read_topic("topic").selectExpr("cast(data AS string) AS n")
    assert (published.count(), published.distinct().count()) == (total, total)
    finish(CONSUMER, tmp_path, "one")
    result = spark.read.format("delta").load(str(tmp_path / "out-one"))
    assert (result.count(), result.select("n").distinct().count()) == (total, total)
    assert store.metrics("sub")["num_undelivered_messages"] == 0
    assert ended, "no consumer lived long enough to be killed at work"


def test_two_streaming_consumers_share_the_work(spark: SparkSession, tmp_path: Path) -> None:
    # "and never process a message twice while its lease holds"
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("topic")
    store.create_subscription("sub", "topic", ack_deadline_seconds=600)
    ready = [start(CONSUMER, tmp_path, "follow", name) for name in ("one", "two")]
    for part in range(20):
        store.publish("topic", [f"{part}-{n}" for n in range(30)])
    deadline = time.monotonic() + 240
    while store.metrics("sub")["num_undelivered_messages"] and time.monotonic() < deadline:
        time.sleep(1)
    for process in ready:
        process.kill()
        process.wait()
    parts = [spark.read.format("delta").load(str(tmp_path / f"out-{n}")) for n in ("one", "two")]
    both = parts[0].unionByName(parts[1])
    assert (both.count(), both.select("n").distinct().count()) == (600, 600)
    assert all(part.count() for part in parts), "one query did everything: nothing was shown"
