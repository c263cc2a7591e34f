"""Streaming queries as processes: killed at random moments, and two on one subscription."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.acceptance.processes import python

pytestmark = [pytest.mark.trial, pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("KILLS", "20"))
FILES, ROWS_PER_FILE = max(20, 2 * KILLS), 25
"""A file is a micro-batch: enough that none of the kills finds everything done."""

PROGRAM = """
import sys
from concurrent.futures import Future
from pubsub_delta import PubSub, local_session

base, mode, roles = sys.argv[1], sys.argv[2], sys.argv[3:]
settings = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
spark = local_session(driver_memory="1g", master="local[2]", settings=settings)
store = PubSub(spark, base + "/store")
trigger = {"availableNow": True} if mode == "drain" else {"processingTime": "0 seconds"}

def consume(name):
    started = Future()
    def write(messages, batch_id):
        rows = messages.selectExpr("cast(data AS string) AS n", "message_id")
        writer = rows.coalesce(1).write.format("delta").mode("append")
        writer = writer.option("txnAppId", started.result().id).option("txnVersion", batch_id)
        writer.save(base + "/out-" + name)
    query = store.subscribe_stream("sub", write, checkpoint_location=base + "/" + name,
                                   trigger=trigger, max_messages=40)
    started.set_result(query)
    return query

def publish(name):
    rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(base + "/in")
    return store.publish_stream("topic", rows, checkpoint_location=base + "/" + name,
                                trigger=trigger)

running = {role: publish(role) if role == "publisher" else consume(role) for role in roles}
print("ready", flush=True)
seen = {role: -1 for role in roles}
while any(query.isActive for query in running.values()):
    for role, query in running.items():
        query.awaitTermination(0.1)
        done = query.lastProgress["batchId"] if query.lastProgress else -1
        if done > seen[role]:
            seen[role] = done
            print("ended", role, done, flush=True)
"""


def start(base: Path, mode: str, *roles: str, program: str = PROGRAM) -> subprocess.Popen[str]:
    process = python(program, str(base), mode, *roles, cwd=base)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill_again_and_again(
    base: Path, chance: random.Random, *roles: str, program: str = PROGRAM
) -> None:
    """Start queries, kill them at a random moment, and again.

    The first are killed when each has ended a batch: however few the kills, each was at work.
    """
    told: Counter[str] = Counter()
    for _ in range(KILLS):
        process = start(base, "follow", *roles, program=program)
        assert process.stdout is not None
        batches = told.total() + chance.randrange(4)
        while told.total() < batches or not all(told[role] for role in roles):
            line = process.stdout.readline()
            assert line.startswith("ended"), "it ended by itself"
            told[line.split()[1]] += 1
        time.sleep(chance.uniform(0, 3))
        assert process.poll() is None, "it ended by itself"
        process.send_signal(signal.SIGKILL)
        process.communicate()


def finish(base: Path, *roles: str, program: str = PROGRAM) -> None:
    process = start(base, "drain", *roles, program=program)
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
    kill_again_and_again(tmp_path, random.Random(int(time.time())), "publisher", "one")
    finish(tmp_path, "publisher")
    published = store.read_topic("topic").selectExpr("cast(data AS string) AS n")
    assert (published.count(), published.distinct().count()) == (total, total)
    finish(tmp_path, "one")
    result = spark.read.format("delta").load(str(tmp_path / "out-one"))
    assert (result.count(), result.select("n").distinct().count()) == (total, total)
    assert store.metrics("sub")["num_undelivered_messages"] == 0


def test_two_streaming_consumers_share_the_work(spark: SparkSession, tmp_path: Path) -> None:
    # "and never process a message twice while its lease holds"
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("topic")
    store.create_subscription("sub", "topic", ack_deadline_seconds=600)
    ready = [start(tmp_path, "follow", name) for name in ("one", "two")]
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
