"""DataFrames of messages: one pass, positions by partition, and what has no room is refused."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from benchmarks.jobs import tasks_of
from pubsub_delta import InvalidArgument
from pubsub_delta.operations import publish
from pubsub_delta.tables.lanes.spark import publishing
from tests.conftest import Bench, by_id

PARTITIONS = 7


def numbered(spark: SparkSession, count: int, partitions: int = PARTITIONS) -> DataFrame:
    """Return messages whose data rises, partition by partition."""
    return spark.range(0, count, 1, partitions).selectExpr("string(id) AS data")


def stored(bench: Bench, topic: str) -> list[tuple[int, str]]:
    """Return positions and data of all messages, in the order of positions."""
    table = DeltaTable(f"{bench.root}/messages/{bench.store.get_topic(topic).uid}")
    rows = table.to_pyarrow_table(columns=["position", "data"]).sort_by("position").to_pylist()
    return [(row["position"], row["data"].decode()) for row in rows]


def check_rising(bench: Bench, topic: str, *counts: int) -> None:
    """Check that publishes, one after the other, have unique positions in the order of rows."""
    found = stored(bench, topic)
    assert len({position for position, _ in found}) == len(found) == sum(counts)
    assert [data for _, data in found] == [str(n) for count in counts for n in range(count)]


@pytest.mark.usefixtures("jobs_are_counted")
def test_a_dataframe_is_published_in_one_pass_without_a_shuffle(bench: Bench) -> None:
    # "a DataFrame publish stays one pass without a shuffle"
    topic, frame = bench.topic(), numbered(bench.spark, 1000)
    jobs, result = tasks_of(bench.spark, lambda: bench.store.publish(topic, frame))
    assert [job for job in jobs if PARTITIONS in job] == [[PARTITIONS]]
    assert result.message_count == 1000


def test_positions_are_unique_and_follow_the_partitions(bench: Bench) -> None:
    # "position = base + partition · 2²⁶ + row in the partition"; "for one publisher they follow
    # its publishes"
    topic, subscription = bench.pair()
    first = bench.store.publish(topic, numbered(bench.spark, 1000))
    bench.store.publish(topic, ["0", "1"])
    bench.store.publish(topic, numbered(bench.spark, 10))
    check_rising(bench, topic, 1000, 2, 10)
    assert list(first.message_ids) == [str(each) for each, _ in stored(bench, topic)[:1000]]
    batch = bench.store.pull(subscription)
    assert batch.message_count == 1012
    assert_df_equality(
        batch.df.drop("ack_id", "delivery_attempt"),
        bench.store.read_topic(topic),
        transforms=[by_id],
        ignore_nullable=True,
    )


def test_more_partitions_than_were_reserved_get_a_larger_range(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "_FIRST_PARTITIONS", 2)
    topic = bench.topic()
    commits = bench.commits(bench.messages_table(topic))
    assert bench.store.publish(topic, numbered(bench.spark, 100)).message_count == 100
    assert bench.commits(bench.messages_table(topic)) == commits + 1
    bench.store.publish(topic, ["0"])
    check_rising(bench, topic, 100, 1)


def test_more_partitions_than_there_can_be_are_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "_FIRST_PARTITIONS", 1)
    monkeypatch.setattr(publish, "_MOST_PARTITIONS", 4)
    topic = bench.topic()
    with pytest.raises(InvalidArgument, match="more than 4 partitions; coalesce it to fewer"):
        bench.store.publish(topic, numbered(bench.spark, 100))
    assert stored(bench, topic) == []


def test_a_partition_with_more_rows_than_its_range_is_refused_with_what_to_do(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "a partition with more rows is refused with what to do"
    monkeypatch.setattr(publishing, "PARTITION_BITS", 3)
    monkeypatch.setattr(publishing, "ROWS_OF_PARTITION", 8)
    topic = bench.topic()
    commits = bench.commits(bench.messages_table(topic))
    told = "more than 8 rows; repartition it into at least 3 partitions"
    with pytest.raises(InvalidArgument, match=told):
        bench.store.publish(topic, numbered(bench.spark, 20, 1))
    assert bench.commits(bench.messages_table(topic)) == commits
    bench.store.publish(topic, numbered(bench.spark, 20, 3))
    check_rising(bench, topic, 20)


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("cast(X'61ff' AS STRING) AS ordering_key", "ordering_key"),
        ("map('k', cast(X'ff' AS STRING)) AS attributes", "attributes"),
        ("map(cast(X'c328' AS STRING), 'v') AS attributes", "attributes"),
    ],
)
def test_text_that_is_no_utf8_is_refused(bench: Bench, column: str, field: str) -> None:
    # Delta would store the bytes as they are, and other engines could not read the table any more
    topic = bench.topic()
    commits = bench.commits(bench.messages_table(topic))
    frame = bench.spark.range(3).selectExpr("string(id) AS data", column)
    with pytest.raises(InvalidArgument, match=f"column '{field}': .*UTF-8: 3 offending rows"):
        bench.store.publish(topic, frame)
    assert bench.commits(bench.messages_table(topic)) == commits


def test_attributes_with_a_key_twice_are_refused(bench: Bench) -> None:
    # Spark refuses to make such a map, but passes on one that it reads.
    twice = pa.table(
        {
            "data": pa.array([b"x"]),
            "attributes": pa.array([[("k", "1"), ("k", "2")]], pa.map_(pa.string(), pa.string())),
        }
    )
    topic = bench.topic()
    for messages in (twice, bench.spark.createDataFrame(twice)):
        with pytest.raises(InvalidArgument, match=r"attributes.*twice"):
            bench.store.publish(topic, messages)
    assert stored(bench, topic) == []


def test_texts_are_texts_whatever_their_collation(bench: Bench) -> None:
    # "no row of theirs may change on its way in"
    topic, subscription = bench.pair()
    frame = bench.spark.sql(
        "SELECT 'A' COLLATE UTF8_LCASE AS data, 'K' COLLATE UNICODE AS ordering_key, "
        "map('B' COLLATE UTF8_LCASE, 'C' COLLATE UNICODE_CI) AS attributes"
    )
    bench.store.publish(topic, frame)
    (message,) = bench.store.pull(subscription)
    assert (message.data, message.ordering_key, message.attributes) == (b"A", "K", {"B": "C"})


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("map('a', 1)", "MAP<STRING,INT>"),
        ("parse_json('1')", "VARIANT"),
        ("make_interval(1)", "INTERVAL"),
        ("array(map('a', 1))", "ARRAY<MAP<STRING,INT>>"),
    ],
)
def test_a_column_without_an_order_orders_nothing(bench: Bench, value: str, type_: str) -> None:
    frame = bench.spark.sql(f"SELECT 'a' AS data, {value} AS n")
    with pytest.raises(InvalidArgument, match=re.escape(f"order_by: 'n' is {type_}, whose")):
        bench.store.publish(bench.topic(), frame, order_by="n")
