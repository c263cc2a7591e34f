"""Which positions a publish was given, as the log or the files of its topic tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pubsub_delta import DataLoss, PubSub
from pubsub_delta.tables.added_files import counted_in_files, told_by_log
from pubsub_delta.tables.layout import path_of
from tests.conftest import Bench


def test_the_log_tells_what_the_files_hold(bench: Bench) -> None:
    """Delta's protocol: rows of a file are numbered from baseRowId on, numRecords of them."""
    topic = bench.topic()
    numbers = bench.spark.range(1000).select(F.col("id").cast("string").alias("data"))
    bench.store.publish(topic, numbers.repartition(3))
    bench.store.publish(topic, ["a", "b"])
    table = bench.store._tables.messages(bench.store.get_topic(topic).uid).table
    path = path_of(table)
    told = told_by_log(bench.spark, path, [1, 2])
    assert told == counted_in_files(bench.spark.table(table))
    assert {version: rows.runs() for version, rows in told.items()} == {
        1: [(0, 999)],
        2: [(1000, 1001)],
    }
    assert told_by_log(bench.spark, path, [2, 3]) == {}, "a commit that is not in the log"
    assert told_by_log(bench.spark, path, list(range(1, 34))) == {}, "too many to open at once"
    assert told_by_log(bench.spark, None, [1]) == {}, "a table whose path is not known"
    bench.spark.sql(f"DELETE FROM {table} WHERE publish_date > DATE'2000-01-01'")
    assert told_by_log(bench.spark, path, [1, 3]) == {}, "a commit that removed files"


def test_a_pull_opens_no_file_and_reading_tells_of_one_that_is_gone(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    path = path_of(bench.store._tables.messages(bench.store.get_topic(topic).uid).table)
    assert path is not None
    for file in Path(path).glob("publish_date=*/*.parquet"):
        file.unlink()
    batch = bench.store.pull(subscription)
    assert batch.message_count == 1
    with pytest.raises(DataLoss, match="missing or damaged"):
        list(batch)


def test_a_root_that_reads_like_a_pattern_is_taken_as_it_is(bench: Bench, tmp_path: Path) -> None:
    """Spark reads [ab] in the path of a file as a or b; nothing may be looked for elsewhere."""
    store = PubSub(bench.spark, str(tmp_path / "a[b]*c"), clock=bench.clock)
    store.create_topic("topic")
    store.create_subscription("sub", "topic")
    store.publish("topic", ["x", "y"])
    assert [message.data for message in store.pull("sub")] == [b"x", b"y"]
