"""Ordering keys through real tables (spec section 6)."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta import InvalidArgument, Message, PulledBatch
from tests.conftest import Bench


def data_of(batch: PulledBatch) -> list[bytes]:
    return [message.data for message in batch]


def ids_of(batch: PulledBatch) -> dict[bytes, str]:
    return {message.data: message.ack_id for message in batch}


def test_a_failed_message_returns_with_the_later_ones_of_its_key(bench: Bench) -> None:
    # "redelivered together with every later message of its key in its batch, even acked ones"
    topic, subscription = bench.pair(enable_message_ordering=True)
    keyed = [("a1", "a"), ("b1", "b"), ("a2", "a"), ("-", ""), ("a3", "a"), ("b2", "b")]
    bench.store.publish(topic, [Message(data.encode(), {}, key) for data, key in keyed])
    batch = bench.store.pull(subscription)
    assert data_of(batch) == [data.encode() for data, _ in keyed]
    ids = ids_of(batch)
    bench.store.acknowledge(subscription, [ids[b"a1"], ids[b"a3"], ids[b"b1"]])
    batch.nack([ids[b"a2"]])
    bench.store.publish(topic, [Message(b"a4", {}, "a"), Message(b"b3", {}, "b"), b"+"])
    # "While a key has leased … messages, pull returns none of that key": b2 is still out
    again = bench.store.pull(subscription)
    assert data_of(again) == [b"a2", b"a3", b"a4", b"+"]
    assert batch.ack().counts == {"success": 4, "expired": 2, "invalid": 0}
    assert data_of(bench.store.pull(subscription)) == [b"b3"]
    assert bench.store.acknowledge(subscription, [ids[b"a3"]]).expired == [ids[b"a3"]]


def test_with_exactly_once_an_ack_is_final(bench: Bench) -> None:
    # "except with exactly-once, where a successful ack is final"
    topic, subscription = bench.pair(
        enable_message_ordering=True, enable_exactly_once_delivery=True
    )
    bench.store.publish(topic, [Message(f"{n}".encode(), {}, "k") for n in range(3)])
    batch = bench.store.pull(subscription)
    ids = ids_of(batch)
    batch.ack([ids[b"1"]])
    batch.nack([ids[b"0"]])
    assert data_of(bench.store.pull(subscription)) == [b"0", b"2"]


def numbered(bench: Bench, keys: int, messages: int) -> DataFrame:
    """Return messages in no order, with a column that gives it."""
    shuffled = bench.spark.range(0, messages, 1, 3).orderBy(F.xxhash64("id")).repartition(3)
    return shuffled.select(
        F.col("id").cast("string").alias("data"),
        F.concat(F.lit("key-"), (F.col("id") % keys).cast("string")).alias("ordering_key"),
        F.col("id").alias("sequence number"),
    )


def test_a_dataframe_is_received_in_the_order_of_a_column(bench: Bench) -> None:
    # "an order column; rows of a key land in one file in that order"
    topic, subscription = bench.pair(enable_message_ordering=True)
    bench.store.publish(topic, numbered(bench, 7, 500), order_by="sequence number")
    bench.store.publish(topic, [Message(b"500", {}, "key-3"), Message(b"501", {}, "key-4")])
    batch = bench.store.pull(subscription)
    for rows in ([(m.ordering_key, m.data) for m in batch], collected(batch)):
        by_key = defaultdict(list)
        for key, data in rows:
            by_key[key].append(int(data))
        assert all(found == sorted(found) for found in by_key.values())
        assert sum(map(len, by_key.values())) == 502


def collected(batch: PulledBatch) -> list[tuple[str, bytes]]:
    """Return keys and data as the DataFrame gives them: each key in one partition, in order."""
    place = F.spark_partition_id().alias("place")
    rows = batch.df.select("ordering_key", "data", place).collect()
    places = {(row["ordering_key"], row["place"]) for row in rows}
    assert len(places) == len({row["ordering_key"] for row in rows})
    return [(row["ordering_key"], bytes(row["data"])) for row in rows]


def test_null_comes_first_and_nan_last_in_an_order(bench: Bench) -> None:
    # Spark SQL: ascending puts NULL first, and NaN after every other number
    topic, subscription = bench.pair(enable_message_ordering=True)
    rows = [("c", math.nan), ("b", 1.0), ("a", None)]
    frame = bench.spark.createDataFrame(rows, "data STRING, n DOUBLE")
    frame = frame.withColumn("ordering_key", F.lit("key"))
    for given in (frame, frame.toArrow()):
        bench.store.publish(topic, given, order_by="n")
    assert [message.data for message in bench.store.pull(subscription)] == [b"a", b"b", b"c"] * 2


def test_an_order_column_must_be_one(bench: Bench) -> None:
    topic = bench.topic()
    frame = numbered(bench, 2, 4)
    with pytest.raises(InvalidArgument, match="order_by: 'n' is not a column; one of data"):
        bench.store.publish(topic, frame, order_by="n")
    with pytest.raises(InvalidArgument, match="order_by: 'n' names a column"):
        bench.store.publish(topic, ["a"], order_by="n")
    with pytest.raises(InvalidArgument, match="'sequence number' is not a column of a message"):
        bench.store.publish(topic, frame)
    # It may be a column of the message; it has the type of that then.
    wrong = bench.spark.range(2).selectExpr("id AS data")
    with pytest.raises(InvalidArgument, match="column 'data' is BIGINT; BINARY or STRING"):
        bench.store.publish(topic, wrong, order_by="data")


@pytest.mark.trial
def test_a_few_of_many_keys_hold_up_only_themselves(bench: Bench) -> None:
    topic, subscription = bench.pair(enable_message_ordering=True)
    bench.store.publish(topic, numbered(bench, 50, 1000), order_by="sequence number")
    first = bench.store.pull(subscription, 5)
    held = {row[0] for row in first.df.select("ordering_key").collect()}
    rest = bench.store.pull(subscription)
    keys = [row[0] for row in rest.df.select("ordering_key").collect()]
    assert not held & set(keys)
    assert (len(set(keys)), len(keys)) == (50 - len(held), 20 * (50 - len(held)))
    assert rest.ack().counts["success"] == len(keys)
    # "a batch that expires is a failure of each of its messages", and then its keys are free
    bench.clock.advance(10)
    again = bench.store.pull(subscription)
    assert again.message_count == 1000 - len(keys)
