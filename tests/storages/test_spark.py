"""Stores in S3 with a Spark session: what one driver does there."""

from __future__ import annotations

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pubsub_delta import FailedPrecondition, ManualClock, PubSub
from pubsub_delta.tables.lanes.s3_writers import ONLY_WRITER
from tests.storages.servers import Storage

pytestmark = [pytest.mark.storages, pytest.mark.timeout(1200)]


@pytest.fixture
def s3_root(s3: Storage) -> str:
    return f"{s3.root}/{uuid.uuid4().hex}"


def test_a_store_in_s3_does_what_one_in_a_directory_does(spark: SparkSession, s3_root: str) -> None:
    clock = ManualClock()
    store = PubSub(spark, s3_root, clock=clock, lane="spark")
    store.create_topic("orders", message_retention_duration="1h")
    store.create_subscription("billing", "orders", message_retention_duration="1h")
    assert store.publish("orders", ["a", "b"], idempotency_id=("till", 1)).message_count == 2
    again = PubSub(spark, s3_root, clock=clock, lane="spark").publish(
        "orders", ["a", "b"], idempotency_id=("till", 1)
    )
    assert again.message_count == 2
    numbers = spark.range(1000).select(F.col("id").cast("string").alias("data"))
    assert store.publish("orders", numbers).message_count == 1000

    batch = store.pull("billing", max_messages=2)
    assert [message.data for message in batch] == [b"a", b"b"]
    assert batch.ack().counts["success"] == 2
    store.create_snapshot("before", "billing")
    rest = store.pull("billing")
    assert rest.df.count() == 1000
    assert rest.ack().counts["success"] == 1000
    assert store.metrics("billing")["num_undelivered_messages"] == 0
    store.seek("billing", snapshot="before")
    assert store.metrics("billing")["num_undelivered_messages"] == 1000
    store.seek("billing", time=clock.now() + timedelta(seconds=1))
    assert store.metrics("billing")["num_undelivered_messages"] == 0

    store.delete_snapshot("before")
    clock.advance(2 * 86_400)
    report = store.maintain(optimize=True, vacuum=True)
    assert report.problems == {}
    assert sum(report.discarded.values()) == 1002
    assert store.read_topic("orders").count() == 0


def test_a_second_driver_is_refused_before_it_writes(spark: SparkSession, s3_root: str) -> None:
    """Delta's default log store for S3 is safe for one driver, so that must have been said."""
    PubSub(spark, s3_root, lane="spark").create_topic("orders")
    other = spark.newSession()
    other.conf.set(ONLY_WRITER, "false")
    store = PubSub(other, s3_root, lane="spark")
    assert [topic.name for topic in store.list_topics()] == ["projects/local/topics/orders"]
    for write in (
        lambda: store.create_topic("letters"),
        lambda: store.publish("orders", ["a"]),
        lambda: store.publish(
            "orders", other.range(3).select(F.col("id").cast("string").alias("data"))
        ),
    ):
        with pytest.raises(FailedPrecondition, match="Spark's lane writes nothing"):
            write()


def test_threads_of_one_driver_ack_every_message_once(spark: SparkSession, s3_root: str) -> None:
    store = PubSub(spark, s3_root, lane="spark")
    store.create_topic("orders")
    store.create_subscription("billing", "orders", ack_deadline_seconds=600)

    def publish(thread: int) -> None:
        for n in range(4):
            PubSub(spark, s3_root, lane="spark").publish("orders", [f"{thread} {n}"])

    def consume(_: int) -> list[bytes]:
        own, taken = PubSub(spark, s3_root, lane="spark"), []
        while batch := own.pull("billing", 2):
            taken += [message.data for message in batch]
            batch.ack()
        return taken

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(publish, range(3)))
        taken = [data for each in pool.map(consume, range(3)) for data in each]
    assert Counter(taken) == Counter(f"{t} {n}".encode() for t in range(3) for n in range(4))
    assert store.metrics("billing")["num_undelivered_messages"] == 0
