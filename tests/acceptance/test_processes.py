"""Consumers as processes: two on one subscription, and one that is killed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.acceptance.processes import python

pytestmark = pytest.mark.trial

CONSUMER = """
import sys
from pubsub_delta import PubSub, local_session
root, size, finish = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "finish"
store = PubSub(local_session(driver_memory="1g", master="local[2]"), root)
print("ready", flush=True)
empty = 0
while empty < 2:
    batch = store.pull("shared", size)
    for row in batch.df.select("message_id").collect():
        print("took", row[0], flush=True)
    if batch.message_count == 0:
        empty += 1
    elif finish:
        print("acked", len(batch.ack().success), flush=True)
    else:
        print("holding", flush=True)
        sys.stdin.read()
"""


def test_two_processes_never_hold_the_same_message(spark: SparkSession, tmp_path: Path) -> None:
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("work")
    store.create_subscription("shared", "work", ack_deadline_seconds=600)
    store.publish("work", [f"{n}" for n in range(60)])
    consumers = [python(CONSUMER, store_root(tmp_path), "15", "finish", cwd=tmp_path) for _ in "ab"]
    told = [consumer.communicate(timeout=240)[0].split("\n") for consumer in consumers]
    taken = [[line[5:] for line in lines if line.startswith("took")] for lines in told]
    both = taken[0] + taken[1]
    assert len(both) == len(set(both)) == 60
    assert all(taken), "one process did everything: nothing was shown"
    assert store.metrics("shared")["num_undelivered_messages"] == 0


def test_the_messages_of_a_killed_consumer_come_again(spark: SparkSession, tmp_path: Path) -> None:
    # "Killing a consumer at any moment loses nothing: its messages come again after the deadline."
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("work")
    store.create_subscription("shared", "work", ack_deadline_seconds=10)
    store.publish("work", [f"{n}" for n in range(30)])
    consumer = python(CONSUMER, store_root(tmp_path), "20", "hold", cwd=tmp_path)
    assert consumer.stdout is not None
    held = []
    for line in consumer.stdout:
        if line.startswith("took"):
            held.append(line.split()[1])
        if line.startswith("holding"):
            break
    consumer.send_signal(signal.SIGKILL)
    consumer.wait()
    assert len(held) == 20
    seen: list[str] = []
    deadline = time.monotonic() + 60
    while len(set(seen)) < 30 and time.monotonic() < deadline:
        batch = store.pull("shared")
        seen += [row[0] for row in batch.df.select("message_id").collect()]
        batch.ack()
    assert sorted(map(int, seen)) == list(range(30))
    assert store.metrics("shared")["num_undelivered_messages"] == 0


def test_killing_a_consumer_at_random_moments_loses_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("work")
    store.create_subscription("shared", "work", ack_deadline_seconds=10)
    result = store.publish("work", [f"{n}" for n in range(400)])
    acked = 0
    for moment in (2.0,):
        consumer = python(CONSUMER, store_root(tmp_path), "20", "finish", cwd=tmp_path)
        assert consumer.stdout is not None
        assert consumer.stdout.readline().startswith("ready")
        time.sleep(moment)
        consumer.send_signal(signal.SIGKILL)
        told = consumer.communicate()[0].split("\n")
        acked += sum(int(line.split()[1]) for line in told if line.startswith("acked"))
    seen: set[str] = set()
    deadline = time.monotonic() + 60
    while store.metrics("shared")["num_undelivered_messages"] and time.monotonic() < deadline:
        batch = store.pull("shared")
        seen |= {row[0] for row in batch.df.select("message_id").collect()}
        batch.ack()
    # What was not seen here was acknowledged before; at most the last ack went unreported.
    assert seen <= set(result.message_ids)
    assert 400 - len(seen) - acked in (0, 20)


def store_root(tmp_path: Path) -> str:
    return str(tmp_path / "store")
