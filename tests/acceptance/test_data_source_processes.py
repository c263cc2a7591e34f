"""Queries of ``format("pubsub_delta")`` as processes that are killed at random moments."""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.acceptance import test_streaming_processes as processes
from tests.acceptance.processes import python

pytestmark = [pytest.mark.trial, pytest.mark.timeout(1800)]

PROGRAM = """
import sys
from pubsub_delta import local_session

base, mode, roles = sys.argv[1], sys.argv[2], sys.argv[3:]
settings = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
spark = local_session(driver_memory="1g", master="local[2]", settings=settings)
trigger = {"availableNow": True} if mode == "drain" else {"processingTime": "0 seconds"}
root = base + "/store"

def consume():
    reader = spark.readStream.format("pubsub_delta").option("subscription", "sub")
    rows = reader.option("maxMessagesPerTrigger", 40).load(root)
    rows = rows.selectExpr("cast(data AS string) AS n", "message_id").coalesce(1)
    return rows.writeStream.format("delta"), base + "/out-one"

def publish():
    rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(base + "/in")
    return rows.writeStream.format("pubsub_delta").option("topic", "topic"), root

def begin(role):
    writer, place = publish() if role == "publisher" else consume()
    return writer.option("checkpointLocation", base + "/" + role).trigger(**trigger).start(place)

running = {role: begin(role) for role in roles}
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


def test_killed_queries_of_the_data_source_have_every_message_exactly_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "So any sink with Spark's checkpoint has the effect of exactly once."
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("topic")
    store.create_subscription("sub", "topic", ack_deadline_seconds=10)
    total = processes.FILES * processes.ROWS_PER_FILE
    numbers = spark.range(0, total, 1, processes.FILES).selectExpr("cast(id AS string) AS data")
    numbers.write.format("delta").save(str(tmp_path / "in"))
    chance = random.Random(int(time.time()))
    processes.kill_again_and_again(tmp_path, chance, "publisher", "one", program=PROGRAM)
    finish = partial(processes.finish, tmp_path, program=PROGRAM)
    finish("publisher")
    published = store.read_topic("topic").selectExpr("cast(data AS string) AS n")
    assert (published.count(), published.distinct().count()) == (total, total)
    time.sleep(11)  # a first lease of which Spark never heard runs out
    finish("one")
    result = spark.read.format("delta").load(str(tmp_path / "out-one"))
    assert (result.count(), result.select("n").distinct().count()) == (total, total)
    assert store.metrics("sub")["num_undelivered_messages"] == 0


ROWS_OF_A_WRITE = 25

WRITING = """
import itertools, sys
from pubsub_delta import local_session

base, first = sys.argv[1], int(sys.argv[2])
settings = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
spark = local_session(driver_memory="1g", master="local[2]", settings=settings)
print("ready", flush=True)
for version in itertools.count(first):
    rows = spark.range(25 * version, 25 * version + 25, 1, 2).selectExpr("string(id) AS data")
    writer = rows.write.format("pubsub_delta").mode("append").option("topic", "topic")
    writer.option("txnAppId", "load").option("txnVersion", version).save(base + "/store")
    print("ended", version, flush=True)
"""


def test_killed_writes_that_are_run_again_publish_every_message_exactly_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "`df.write` …: exactly once", with an application and a version, as for a write to Delta
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("topic")
    chance, version = random.Random(int(time.time())), 0
    for _ in range(processes.KILLS):
        process = python(WRITING, str(tmp_path), str(version), cwd=tmp_path)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2 + chance.randrange(2)):  # the first may have been written before
            line = process.stdout.readline()
            assert line.startswith("ended"), "it ended by itself"
            version = int(line.split()[1])
        time.sleep(chance.uniform(0, 2))  # in the middle of the next one, or of some later one
        assert process.poll() is None, "it ended by itself"
        process.kill()
        process.communicate()
        stored = store.read_topic("topic").selectExpr("CAST(string(data) AS INT) AS n")
        count, distinct = stored.count(), stored.distinct().count()
        last = stored.agg({"n": "max"}).collect()[0][0]
        assert count == distinct == last + 1
        version = max(version, last // ROWS_OF_A_WRITE)  # which is written once more
    assert version >= processes.KILLS - 1
