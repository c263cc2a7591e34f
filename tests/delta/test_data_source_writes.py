"""``format("pubsub_delta")``: publishing a store's messages by Spark's data source API."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.delta.live import FORMAT, NAME, TOPIC, Live
from tests.delta.test_data_source import forget_last_commit


def numbers(spark: SparkSession, first: int, end: int, partitions: int = 2) -> DataFrame:
    return spark.range(first, end, 1, partitions).select(F.col("id").cast("string").alias("data"))


def received(live: Live) -> list[str]:
    return [message.data.decode() for message in live.store.pull(NAME)]


def commits(live: Live) -> list[int]:
    """Return how many messages each publish has added, the first one first."""
    told = live.store.topic_history(TOPIC)
    return [each.message_count for each in reversed(told) if each.message_count]


def publish(live: Live, rows: DataFrame, mode: str = "append", **options: str) -> None:
    writer = rows.write.format(FORMAT).options(root=live.root, topic=TOPIC).mode(mode)
    writer.options(**options).save()


def test_a_dataframe_is_published_in_one_commit(live: Live) -> None:
    publish(live, numbers(live.spark, 0, 10, 3))
    assert commits(live) == [10]
    assert received(live) == [f"{n}" for n in range(10)]


def test_all_columns_of_a_message_are_published(live: Live) -> None:
    rows = live.spark.sql(
        "SELECT unhex('00ff') AS data, map('k', 'é') AS attributes, 'key' AS ordering_key, "
        "'99' AS message_id"
    )
    publish(live, rows)
    (message,) = live.store.pull(NAME)
    found = message.data, message.attributes, message.ordering_key
    assert found == (b"\x00\xff", {"k": "é"}, "key")
    table = f"delta.`{live.root}/messages/{live.store.get_topic(TOPIC).uid}`"
    assert live.spark.table(table).where("attributes['k'] = 'é'").count() == 1


def test_a_dataframe_without_rows_publishes_nothing(live: Live) -> None:
    publish(live, numbers(live.spark, 0, 10).where("false"))
    assert commits(live) == []


def test_a_batch_with_a_transaction_is_published_once(live: Live) -> None:
    # "publishing the same one again writes nothing"
    for version in ("1", "1", "2"):
        publish(live, numbers(live.spark, 0, 2), txnAppId="job", txnVersion=version)
    assert commits(live) == [2, 2]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT '' AS data", "InvalidArgument: messages.0.: .*data or at least one attribute"),
        ("SELECT 'a' AS text", "InvalidArgument: column 'text' is not a column of a message"),
        ("SELECT 1 AS data", "InvalidArgument: column 'data' is INT; BINARY or STRING is accepted"),
    ],
)
def test_a_message_that_breaks_a_rule_publishes_nothing(live: Live, sql: str, told: str) -> None:
    # "One bad message fails the whole request with InvalidArgument, and nothing is written."
    with pytest.raises(PySparkException, match=told):
        publish(live, live.spark.sql(sql))
    assert commits(live) == []


def test_a_task_that_fails_publishes_nothing(live: Live) -> None:
    rows = numbers(live.spark, 0, 10, 2).select(
        F.when(F.col("data") == "9", F.raise_error(F.lit("torn"))).otherwise(F.col("data"))
        .alias("data")
    )  # fmt: skip
    with pytest.raises(PySparkException, match="torn"):
        publish(live, rows)
    assert commits(live) == []
    publish(live, numbers(live.spark, 0, 2))
    assert received(live) == ["0", "1"]


def test_a_topic_is_not_overwritten(live: Live) -> None:
    with pytest.raises(PySparkException, match="InvalidArgument: mode: a topic is not overwritten"):
        publish(live, numbers(live.spark, 0, 2), mode="overwrite")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"topic": "absent"}, "NotFound: topic projects/local/topics/absent does not exist"),
        ({"subscription": NAME}, "InvalidArgument: subscription: write does not have"),
        ({"root": "main.pubsub"}, "FailedPrecondition: root: main.pubsub is a catalog schema"),
    ],
)
def test_a_write_that_cannot_be_says_why(live: Live, options: dict[str, str], told: str) -> None:
    with pytest.raises(PySparkException, match=told):
        publish(live, numbers(live.spark, 0, 2), **options)


def follow(live: Live, at: Path) -> None:
    """Publish what has come to a table since the last time."""
    rows = live.spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(f"{at}/in")
    writer = rows.writeStream.format(FORMAT).options(root=live.root, topic=TOPIC)
    writer = writer.option("checkpointLocation", f"{at}/published")
    assert writer.trigger(availableNow=True).start().awaitTermination(120)


def test_a_temporary_view_of_sql_reads_and_publishes(live: Live) -> None:
    using = f"USING {FORMAT} OPTIONS (topic '{TOPIC}', path '{live.root}')"
    live.spark.sql(f"CREATE TEMPORARY VIEW receipts {using}")
    try:
        live.spark.sql("INSERT INTO receipts (data) VALUES (CAST('a' AS BINARY))")
        rows = live.spark.sql("SELECT string(data) AS data FROM receipts").collect()
        assert [row["data"] for row in rows] == ["a"]
    finally:
        live.spark.catalog.dropTempView("receipts")


@pytest.mark.parametrize("place", ["OPTIONS (topic 'flights', root '{}')", "LOCATION '{}'"])
def test_a_table_of_sql_is_refused_and_the_view_is_named(live: Live, place: str) -> None:
    """Spark would create it, and tell no query of it where the store is."""
    create = f"CREATE TABLE receipts USING {FORMAT} {place.format(live.root)}"
    with pytest.raises(PySparkException, match="CREATE TEMPORARY VIEW name USING pubsub_delta"):
        live.spark.sql(create)
    assert not live.spark.catalog.tableExists("receipts")


def test_a_stream_is_published_micro_batch_by_micro_batch(live: Live, tmp_path: Path) -> None:
    for first in (0, 3):
        rows = numbers(live.spark, first, first + 3, 1)
        rows.write.format("delta").mode("append").save(f"{tmp_path}/in")
        follow(live, tmp_path)
    assert commits(live) == [3, 3]
    assert received(live) == [f"{n}" for n in range(6)]


def test_a_micro_batch_that_is_run_again_is_not_published_twice(live: Live, tmp_path: Path) -> None:
    # "exactly once per micro-batch: the stream writer's commit gets batchId: use an idempotency id"
    numbers(live.spark, 0, 4, 2).write.format("delta").save(f"{tmp_path}/in")
    follow(live, tmp_path)
    published = commits(live)
    forget_last_commit(tmp_path / "published")
    follow(live, tmp_path)
    assert commits(live) == published
    assert sorted(received(live)) == ["0", "1", "2", "3"]


def test_a_stream_to_a_topic_that_is_not_there_says_so(live: Live, tmp_path: Path) -> None:
    numbers(live.spark, 0, 4, 2).write.format("delta").save(f"{tmp_path}/in")
    live.store.delete_topic(TOPIC)
    with pytest.raises(StreamingQueryException, match=r"NotFound: topic .*flights does not exist"):
        follow(live, tmp_path)
