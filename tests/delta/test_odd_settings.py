"""Stores in sessions with settings that few have: what Spark does by them, no store does."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pubsub_delta import Message, PubSub
from pubsub_delta.jobs.publish import split
from pubsub_delta.session import is_remote
from tests.conftest import Bench


def session_with(spark: SparkSession, setting: str, value: str) -> SparkSession:
    """Return a session of its own with a setting."""
    if is_remote(spark):
        pytest.skip("Spark Connect: it has no newSession()")
    session = spark.newSession()
    session.conf.set(setting, value)
    return session


def test_a_session_that_drops_the_columns_of_groups_answers_by_them(bench: Bench) -> None:
    # "A session's configuration is never changed": spark.sql.retainGroupColumns is the caller's
    session = session_with(bench.spark, "spark.sql.retainGroupColumns", "false")
    store = PubSub(session, bench.root, clock=bench.clock, lane=bench.lane)
    topic, name = bench.pair(enable_message_ordering=True)
    store.publish(topic, [Message(each, ordering_key="red") for each in (b"a", b"b", b"c")])
    batch = store.pull(name)
    first = batch.df.where("data = X'61'").select("ack_id")
    assert store.acknowledge(name, first).counts["success"] == 1
    assert batch.nack(where=F.col("data") == F.lit(b"b")).counts["success"] == 1
    assert [each.data for each in store.pull(name)] == [b"b", b"c"]  # what follows b came back too
    assert store.maintain(exact=True).problems == {}


def test_a_session_that_drops_the_columns_of_groups_publishes_in_batches(
    spark: SparkSession,
) -> None:
    session = session_with(spark, "spark.sql.retainGroupColumns", "false")
    batches = split(session.range(4).selectExpr("id", "id % 2 AS half"), "half", "run")
    assert [(name, rows.count()) for name, rows in batches] == [
        (("run/half=0", 0), 2),
        (("run/half=1", 0), 2),
    ]
