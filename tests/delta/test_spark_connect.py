"""What is different in a session of a Spark Connect server (``make connect-test``)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import FailedPrecondition, PubSub, local_session
from pubsub_delta.session import is_remote
from tests.conftest import Bench


@pytest.fixture(autouse=True)
def remote(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--remote"):
        pytest.skip("about Spark Connect")


def test_the_session_that_runs_is_taken(bench: Bench) -> None:
    assert is_remote(bench.spark)
    assert local_session() is bench.spark


def test_queries_are_refused_in_one_line_that_says_why(bench: Bench, tmp_path: Path) -> None:
    topic, subscription = bench.pair()
    checkpoint = str(tmp_path / "checkpoint")
    with pytest.raises(FailedPrecondition, match=r"subscribe_stream: .* Spark Connect server"):
        bench.store.subscribe_stream(subscription, print, checkpoint_location=checkpoint)
    rows = bench.spark.readStream.format("rate").load().selectExpr("string(value) AS data")
    with pytest.raises(FailedPrecondition, match=r"publish_stream: .* Spark Connect server"):
        bench.store.publish_stream(topic, rows, checkpoint_location=checkpoint)
    assert not Path(checkpoint).exists()


def test_a_topic_can_be_read_along_as_a_stream(bench: Bench, tmp_path: Path) -> None:
    topic = bench.topic()
    bench.store.publish(topic, ["a", "b"])
    output = str(tmp_path / "out")
    query = (
        bench.store.read_topic_stream(topic)
        .writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(output)
    )
    assert query.awaitTermination(60)
    rows = bench.spark.read.format("delta").load(output).collect()
    assert sorted(bytes(row["data"]) for row in rows) == [b"a", b"b"]


def test_the_format_works_where_the_server_has_the_package(bench: Bench, tmp_path: Path) -> None:
    root, output = str(tmp_path / "root"), str(tmp_path / "out")
    store = PubSub(None, root)
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    rows = bench.spark.range(3).selectExpr("CAST(id AS STRING) AS data")
    rows.write.format("pubsub_delta").option("topic", "orders").mode("append").save(root)
    stream = bench.spark.readStream.format("pubsub_delta").option("subscription", "billing")
    query = (
        stream.load(root)
        .writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(output)
    )
    assert query.awaitTermination(60)
    found = bench.spark.read.format("delta").load(output).collect()
    assert sorted(bytes(row["data"]) for row in found) == [b"0", b"1", b"2"]
    assert store.metrics("billing")["num_undelivered_messages"] == 0


def test_a_session_that_was_closed_is_told(bench: Bench) -> None:
    """A server closes a session that was idle for an hour, and forgets all when it ends."""
    client: Any = bench.spark.client
    session = SparkSession.builder.remote(f"sc://{client._builder.endpoint}").create()
    store = PubSub(session, bench.root, clock=bench.clock)
    topic, subscription = bench.pair()
    store.publish(topic, ["a"])
    batch = store.pull(subscription)
    rows = session.range(1).selectExpr("CAST('b' AS BINARY) AS data")
    session.stop()
    for call in (
        batch.ack,
        partial(store.acknowledge, subscription, rows),
        partial(store.publish, topic, rows),
        partial(store.read_topic, topic),
        partial(store.read_topic_stream, topic),
    ):
        with pytest.raises(FailedPrecondition, match="its server has closed it; open the store"):
            call()
    another = SparkSession.builder.remote(f"sc://{client._builder.endpoint}").create()
    another.stop()
    with pytest.raises(FailedPrecondition, match="the Spark session does not answer"):
        PubSub(another, bench.root)
