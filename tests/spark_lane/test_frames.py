"""What the Spark lane does with DataFrames: those that are published, and those that are read."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_state import Span, State
from pubsub_delta.policy.filter_terms import Has
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.lanes.spark import SparkLane, SparkScans, frames, publishing, views
from pubsub_delta.tables.lanes.spark.types import arrow_frame
from pubsub_delta.tables.schemas import (
    BACKLOG,
    BATCH,
    MESSAGE_COLUMNS,
    MESSAGES,
)
from tests.spark_lane.spark_rows import LATE, NOON, UID, messages

# DataFrames in


def append(lane: SparkLane, table: str, frame: Any, partitions: int = 8, first: int = 1000) -> bool:
    return publishing.append_frame(
        lane, table, publishing.conformed(frame), first, NOON, "x", None, partitions
    )


def test_each_partition_is_one_file_and_one_run_of_positions(lane: SparkLane, topic: str) -> None:
    frame = lane.spark.range(0, 1000, 1, 3).select(F.col("id").cast("string").alias("data"))
    assert append(lane, topic, frame)
    runs = sorted((file.position_min, file.position_max, file.rows) for file in lane.files(topic))
    step = publishing.ROWS_OF_PARTITION
    assert runs == [
        (1000 + n * step, 1000 + n * step + rows - 1, rows)
        for n, rows in enumerate((333, 333, 334))
    ]
    rows = lane.read(topic).sort_by("position")
    assert rows["data"].to_pylist() == [str(n).encode() for n in range(1000)]
    assert set(rows["publish_date"].to_pylist()) == {date(2026, 1, 1)}
    assert set(rows["publish_time"].to_pylist()) == {NOON}


def test_positions_follow_the_order_of_each_key(lane: SparkLane, topic: str) -> None:
    numbers = lane.spark.range(0, 200, 1, 4)
    frame = numbers.select(
        F.col("id").cast("string").alias("data"),
        F.concat(F.lit("key"), F.col("id") % 3).alias("ordering_key"),
        (-F.col("id")).alias("rank"),
    )
    publishing.append_frame(
        lane, topic, publishing.conformed(frame, "rank"), 0, NOON, "x", None, 1000
    )
    rows = lane.read(topic).sort_by("position").to_pylist()
    for key in ("key0", "key1", "key2"):
        ids = [int(row["data"]) for row in rows if row["ordering_key"] == key]
        assert len(ids) >= 66
        assert ids == sorted(ids, reverse=True)


def test_more_partitions_than_were_reserved_write_nothing(lane: SparkLane, topic: str) -> None:
    frame = lane.spark.range(0, 10, 1, 5).select(F.col("id").cast("string").alias("data"))
    with pytest.raises(publishing.TooManyPartitions):
        append(lane, topic, frame, partitions=4)
    assert lane.version(topic) == 0
    assert append(lane, topic, frame, partitions=5)


def test_a_partition_with_too_many_rows_is_refused_with_what_to_do(
    lane: SparkLane, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "ROWS_OF_PARTITION", 4)
    frame = lane.spark.range(0, 10, 1, 2).select(F.col("id").cast("string").alias("data"))
    with pytest.raises(InvalidArgument, match=r"more than 4 rows; repartition it into at least 3"):
        append(lane, topic, frame)
    assert lane.version(topic) == 0


@pytest.mark.parametrize(
    ("column", "sql"),
    [
        ("attributes", "map('k', CAST(X'ff' AS STRING)) AS attributes, '' AS ordering_key"),
        ("attributes", "map(CAST(X'6bff' AS STRING), 'v') AS attributes, '' AS ordering_key"),
        ("ordering_key", "map('k', 'v') AS attributes, CAST(X'c328' AS STRING) AS ordering_key"),
    ],
)
def test_text_that_is_not_utf8_is_refused(
    lane: SparkLane, topic: str, column: str, sql: str
) -> None:
    bad = lane.spark.sql(f"SELECT 'x' AS data, {sql} FROM range(3)")
    good = lane.spark.sql("SELECT 'x' AS data, map('é', '😀') AS attributes, 'é' AS ordering_key")
    with pytest.raises(InvalidArgument, match=f"column '{column}': .*UTF-8: 3 offending rows"):
        append(lane, topic, bad.unionByName(good))
    assert lane.version(topic) == 0
    assert append(lane, topic, good)


def test_many_attributes_are_checked_exactly(lane: SparkLane, topic: str) -> None:
    pairs = ", ".join(f"'k{n}', 'v'" for n in range(20))
    assert append(lane, topic, lane.spark.sql(f"SELECT map({pairs}) AS attributes"))
    with pytest.raises(InvalidArgument, match="does not start with 'goog'"):
        append(lane, topic, lane.spark.sql(f"SELECT map({pairs}, 'goog', 'v') AS attributes"))


def test_a_dataframe_without_rows_makes_no_commit(lane: SparkLane, topic: str) -> None:
    frame = lane.spark.sql("SELECT 'x' AS data WHERE false")
    assert append(lane, topic, frame)
    assert lane.version(topic) == 0


def test_what_is_wrong_with_the_callers_own_data_is_not_ours(
    lane: SparkLane, topic: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"data": ["x"]}), tmp_path / "own.parquet")
    frame = lane.spark.read.parquet(str(tmp_path / "own.parquet"))
    (tmp_path / "own.parquet").unlink()
    with pytest.raises(Exception, match=r"own\.parquet") as raised:
        append(lane, topic, frame)
    assert not isinstance(raised.value, (TableMissing, InvalidArgument))


def test_other_readers_read_the_pages_that_spark_writes(lane: SparkLane, topic: str) -> None:
    deltalake = pytest.importorskip("deltalake")
    frame = lane.spark.sql(
        "SELECT CAST(id AS STRING) AS data, map('k', CAST(id % 3 AS STRING)) AS attributes, "
        "CONCAT('key', id % 5) AS ordering_key FROM range(0, 5000, 1, 2)"
    )
    assert append(lane, topic, frame)
    path = topic.removeprefix("delta.`").removesuffix("`")
    files = [str(each) for each in Path(path).glob("publish_date=*/*.parquet")]
    first = pq.read_metadata(files[0]).row_group(0).column(0)
    assert first.path_in_schema == "position"
    assert first.encodings == ("DELTA_BINARY_PACKED",)
    ours = lane.read(topic, columns=["position", "data", "attributes"]).sort_by("position")
    theirs = deltalake.DeltaTable(path).to_pyarrow_dataset().to_table(columns=ours.column_names)
    plain = ds.dataset(files).to_table(columns=ours.column_names)
    for each in (theirs, plain):
        assert each.sort_by("position").to_pylist() == ours.to_pylist()


# DataFrames out


def test_a_lease_is_read_as_a_batch_and_its_ids_are_folded_again(
    lane: SparkLane, topic: str
) -> None:
    lane.append(topic, messages(0, 1, 2, time=LATE), "first")
    lane.append(topic, messages(3, 4), "second")
    spans = [
        Span(State.LEASED, Positions.of([1, 2]), NOON, LATE, delivery_attempt=2, lease_id=7),
        Span(State.LEASED, Positions.of([3]), NOON, LATE, delivery_attempt=5, lease_id=7),
    ]
    terms: dict[str, Any] = {"subscription_uid": UID, "lease_id": 7, "counted": True}
    for ordered in (False, True):
        batch = frames.leased(lane.spark, topic, spans, **terms, ordered=ordered)
        assert batch.columns == BATCH.names
        rows = {row["message_id"]: row for row in batch.collect()}
        assert set(rows) == {"1", "2", "3"}
        assert rows["1"]["ack_id"] == str(AckId(UID, 7, 1))
        assert [rows[each]["delivery_attempt"] for each in "123"] == [2, 2, 5]
    empty = arrow_frame(lane.spark, BATCH.empty_table(), BATCH)
    assert empty.schema.simpleString() == batch.schema.simpleString()
    named, foreign = frames.fold_ack_ids(
        batch.unionByName(lane.spark.sql("SELECT 'no id' AS ack_id"), allowMissingColumns=True), UID
    )
    assert named == {7: Positions.of([1, 2, 3])}
    assert foreign == ["no id"]
    assert not frames.has_ack_ids(batch.select("message_id"))
    assert frames.has_ack_ids(batch)
    where = (F.col("data") == b"m2") | (F.col("delivery_attempt") == 5)
    assert frames.chosen(lane.spark, topic, spans, where, **terms) == Positions.of([2, 3])


def test_many_scattered_positions_are_looked_up(lane: SparkLane, topic: str) -> None:
    lane.append(topic, messages(*range(200)), "first")
    even, odd = Positions.of(range(0, 200, 2)), Positions.of(range(1, 100, 2))
    found = frames.messages(lane.spark, topic, {0: even, 1: odd}, NOON, NOON, "group")
    counted = {row["group"]: row["count"] for row in found.groupBy("group").count().collect()}
    assert counted == {0: 100, 1: 50}
    assert frames.messages(lane.spark, topic, {0: even}, NOON, NOON, "group").count() == 100


def test_a_backlog_has_the_same_columns_with_messages_and_without(
    lane: SparkLane, topic: str
) -> None:
    lane.append(topic, messages(0), "first")
    spans = [Span(State.AVAILABLE, Positions.of([0]), NOON, NOON)]
    backlog = frames.backlog(lane.spark, topic, spans, counted=False)
    empty = frames.backlog(lane.spark, topic, [], counted=False)
    assert backlog.columns == empty.columns == BACKLOG.names
    assert backlog.schema.simpleString() == empty.schema.simpleString()
    row = backlog.collect()[0]
    assert (row["state"], row["delivery_attempt"]) == ("available", None)


def test_a_topic_is_read_as_of_a_version_and_as_a_stream_with_ids(
    lane: SparkLane, topic: str, tmp_path: Path
) -> None:
    lane.append(topic, messages(0, 1), "first")
    lane.append(topic, messages(2, time=LATE), "second")
    lane.delete(topic, [("position", "=", 0)])

    def ids(frame: Any) -> list[str]:
        return sorted(row["message_id"] for row in frame.collect())

    assert ids(frames.everything(lane.spark, topic)) == ["1", "2"]
    assert ids(frames.as_of(lane.spark, topic, 2)) == ["0", "1", "2"]
    assert ids(frames.as_of(lane.spark, topic, 2, until=NOON)) == ["0", "1"]
    since_version, since_time = (
        frames.stream(lane.spark, topic, 2),
        frames.stream(lane.spark, topic, 1, since=LATE),
    )
    for number, stream in enumerate((since_version, since_time)):
        query = (
            stream.writeStream.format("memory")
            .queryName(f"seen_{number}")
            .option("checkpointLocation", str(tmp_path / str(number)))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert ids(lane.spark.table(f"seen_{number}")) == ["2"]


def test_null_data_and_attributes_of_other_writers_are_empty(lane: SparkLane, topic: str) -> None:
    """Whoever reads them needs no rule for null: what a consumer is given is empty, too."""
    row = {**messages(0).to_pylist()[0], "data": None, "attributes": None, "ordering_key": None}
    lane.append(topic, pa.Table.from_pylist([row], schema=MESSAGES.columns), "of another writer")
    (read,) = frames.everything(lane.spark, topic).collect()
    assert (bytes(read["data"]), read["attributes"]) == (b"", {})
    rows = SparkScans(lane.spark).rows(topic, Window(), ["data", "attributes"])
    assert rows.to_pylist() == [{"data": b"", "attributes": []}]
    columns = ", ".join(f"{views._MESSAGE[name]} AS {name}" for name in MESSAGE_COLUMNS)
    (shown,) = lane.spark.sql(f"SELECT {columns} FROM {topic}").collect()
    assert (bytes(shown["data"]), shown["attributes"], shown["ordering_key"]) == (b"", {}, "")


# Scans


def test_times_of_whole_days_are_not_read(lane: SparkLane, topic: str) -> None:
    """The partitions tell them, so a filter costs what its own column costs."""
    lane.append(topic, messages(0, 1), "first")
    window = Window(Positions.of([0, 1]), NOON, LATE)
    for scanned, reads in ((window, True), (window.on_whole_days(), False)):
        frame = frames.within(lane.spark, topic, scanned).select("position")
        plan = lane.spark.sql("EXPLAIN FORMATTED SELECT position FROM {frame}", frame=frame)
        assert ("publish_time" in plan.collect()[0][0]) is reads


def test_scans_answer_by_window_filter_and_key(lane: SparkLane, topic: str) -> None:
    scans = SparkScans(lane.spark)
    lane.append(topic, messages(0, 1, 2, keys=("a", "b", None), attributes={"x": "1"}), "first")
    lane.append(topic, messages(10, 11, 12, 13, time=LATE, keys=("a", "", "b", "")), "second")
    everything = Window()
    assert scans.fold(topic, everything) == Positions.of([0, 1, 2, 10, 11, 12, 13])
    assert scans.fold(topic, everything, Has("x")) == Positions.of([0, 1, 2])
    assert scans.fold(topic, Window(Positions.between(1, 11), None, NOON)) == Positions.of([1, 2])
    parts = scans.parts(topic, Window(None, NOON, None))
    assert Positions.union(part.positions for part in parts) == scans.fold(topic, everything)
    assert (parts[0].publish_time_min, parts[0].publish_time_max) == (NOON, LATE)
    of = Window(Positions.of([0, 2, 11]))
    among = Window(Positions.of([1, 2, 10, 12, 13]))
    assert scans.of_same_keys(topic, of, among) == Positions.of([10])
    assert scans.followers(topic, Window(Positions.of([1, 11])), everything) == Positions.of([12])
    assert scans.count(topic, everything) == (7, NOON)
    assert scans.count(topic, Window(Positions.of([99]))) == (0, None)
    rows = scans.rows(topic, Window(Positions.of([11, 1])), ["data", "publish_time"])
    assert rows.to_pylist() == [
        {"data": b"m1", "publish_time": NOON},
        {"data": b"m11", "publish_time": LATE},
    ]
    batches = list(scans.batches(topic, everything, ["position"]))
    assert pa.Table.from_batches(batches)["position"].to_pylist() == [0, 1, 2, 10, 11, 12, 13]
    assert scans.byte_count(topic, Window(Positions.of([0, 11]))) == (2 + 2 + 1) + 3
    lane.append(topic, messages(40_000, 40_002), "with one gap")
    parts = scans.parts(topic, Window(Positions.between(40_000, 40_002)))
    assert [part.positions for part in parts] == [Positions.of([40_000, 40_002])]
