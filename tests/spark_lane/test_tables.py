"""What the Spark lane alone has to promise, besides what both lanes do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta.errors import DataLoss, FailedPrecondition
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Match, Merge, TableMissing
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.lanes.spark import SparkLane, SparkScans, frames, location_of_schema
from pubsub_delta.tables.schemas import (
    ACK_STATE,
    MESSAGES,
    SNAPSHOTS,
    SUBSCRIPTIONS,
    TOPICS,
)
from tests.spark_lane.spark_rows import HOSTILE, LATE, NOON, UID, UTC, messages


@pytest.fixture
def changed(spark: SparkSession) -> Iterator[Any]:
    """Change settings of the session for one test."""
    before: dict[str, str | None] = {}

    def change(settings: dict[str, str]) -> None:
        for key, value in settings.items():
            before.setdefault(key, spark.conf.get(key, None))
            spark.conf.set(key, value)

    yield change
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


HOSTILE_DEFAULTS = {
    **{
        f"spark.databricks.delta.properties.defaults.{name}": value
        for name, value in {
            "appendOnly": "true",
            "columnMapping.mode": "name",
            "checkpointPolicy": "v2",
            "enableChangeDataFeed": "true",
            "enableDeletionVectors": "true",
            "enableRowTracking": "true",
            "enableInCommitTimestamps": "true",
            "enableTypeWidening": "true",
            "feature.deletionVectors": "supported",
            "feature.v2Checkpoint": "supported",
        }.items()
    },
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


def test_tables_are_plain_delta_whatever_the_sessions_defaults(
    lane: SparkLane, tmp_path: Path, changed: Any
) -> None:
    changed({**HOSTILE_DEFAULTS, "spark.sql.ansi.enabled": "false"})
    for number, schema in enumerate((MESSAGES, ACK_STATE, TOPICS)):
        table, full = (f"delta.`{tmp_path}/{number}{each}`" for each in ("", "full"))
        lane.create(table, schema)
        lane.create(table, schema)
        lane.create(full, schema, schema.columns.empty_table())
        for each in (table, full):
            told = lane.spark.sql(f"DESCRIBE DETAIL {each}").collect()[0]
            assert (told["minReaderVersion"], told["minWriterVersion"]) == (1, 2)
            wanted = {k: v for k, v in schema.properties.items() if "min" not in k}
            assert told["properties"] == wanted
            assert told["partitionColumns"] == list(schema.partitioned_by)
            assert lane.read(each).schema.equals(schema.columns)
            assert "ntz" not in lane.spark.table(each).schema.json()


def test_a_session_that_reserves_keywords_reads_and_changes_every_column(
    lane: SparkLane, tmp_path: Path, changed: Any
) -> None:
    # "Identifiers are quoted": FILTER is a reserved word there.
    changed({"spark.sql.ansi.enabled": "true", "spark.sql.ansi.enforceReservedKeywords": "true"})
    table = f"delta.`{tmp_path}/subscriptions`"
    row = pa.table({"uid": ["a"], "filter": ["x"]})
    lane.create(table, SUBSCRIPTIONS)
    lane.create(f"delta.`{tmp_path}/ack_state`", ACK_STATE, ACK_STATE.columns.empty_table())
    assert lane.merge(table, row, Merge(on=[("uid", "=", "uid")], insert=True)) == 1
    row = row.set_column(1, "filter", pa.array(["y"]))
    assert lane.merge(table, row, Merge(on=[("uid", "=", "uid")], update=["filter"])) == 1
    assert lane.read(table, [("filter", "=", "y")], ["filter"]).to_pylist() == [{"filter": "y"}]
    assert lane.delete(table, [("filter", "=", "y")]) == 1


def test_what_is_appended_is_read_again_in_the_same_types(lane: SparkLane, topic: str) -> None:
    rows = messages(0, 1, 2, time=LATE, keys=("a", None, HOSTILE), attributes={HOSTILE: "1"})
    assert lane.append(topic, rows, "first")
    assert lane.read(topic).sort_by("position").equals(rows)
    assert lane.read(topic, [("ordering_key", "=", HOSTILE)], ["position"]).to_pylist() == [
        {"position": 2}
    ]


def test_every_condition_is_what_it_says(lane: SparkLane, topic: str) -> None:
    lane.append(topic, messages(0, 1, keys=(HOSTILE, None)), "first")
    lane.append(topic, messages(2**40, time=NOON + timedelta(days=1), keys=("b",)), "second")

    def found(*where: Any) -> list[int]:
        return sorted(lane.read(topic, where, ["position"])["position"].to_pylist())

    assert found(("position", "in", [1, 2**40])) == [1, 2**40]
    assert found(("position", "in", [])) == []
    assert found(("ordering_key", "=", HOSTILE), ("position", "<", 2**40)) == [0]
    assert found(("publish_time", ">", NOON)) == [2**40]
    assert found(("publish_date", "<=", date(2026, 1, 1))) == [0, 1]


def test_history_tells_versions_times_and_what_commits_carry(lane: SparkLane, topic: str) -> None:
    lane.append(topic, messages(0), '{"it\'s": "first"}')
    last, first = lane.history(topic)
    assert (last.version, first.version) == (1, 0)
    assert last.user_metadata == '{"it\'s": "first"}'
    assert last.metrics["numOutputRows"] == "1"
    assert first.time <= last.time <= datetime.now(UTC)
    assert lane.version(topic) == 1
    assert len(lane.history(topic, 1)) == 1


def test_a_commit_whose_file_was_emptied_is_data_loss(
    lane: SparkLane, topic: str, tmp_path: Path
) -> None:
    """Spark takes it for a commit without changes."""
    for number in range(3):
        lane.append(topic, messages(number), "x")
    log = tmp_path / "messages" / UID / "_delta_log"
    for version in (2, 3):
        for checksum in log.glob(f".{version:020}.json.crc"):  # of Hadoop's client
            checksum.unlink()
        (log / f"{version:020}.json").write_bytes(b"")
        with pytest.raises(DataLoss, match=f"commit {version} of its log"):
            lane.history(topic)
    with pytest.raises(DataLoss, match="commit 3 of its log"):
        lane.version(topic)


def test_a_transaction_that_has_landed_is_not_written_again(lane: SparkLane, topic: str) -> None:
    assert lane.append(topic, messages(0), "first", ("app", 3))
    assert not lane.append(topic, messages(1), "again", ("app", 3))
    assert not lane.append(topic, messages(1), "first", ("app", 3)), "it landed before, not now"
    assert not lane.append(topic, messages(1), "lower", ("app", 2))
    assert lane.append(topic, messages(1), "next", ("app", 4))
    assert lane.append(topic, messages(2), "of another", ("other", 1))
    assert lane.read(topic).num_rows == 3


MISSING = "`default`.`no_such_table`", "`no_such_schema`.`no_such_table`"


@pytest.mark.parametrize("missing", [None, *MISSING])
def test_a_missing_table_is_told_by_every_method(
    lane: SparkLane, table: str, missing: str | None
) -> None:
    gone = missing or table
    assert not lane.exists(gone)
    lane.drop(gone)
    merge = Merge([("position", "=", "position")], delete=True)
    frame = lane.spark.createDataFrame(messages(0))
    scans = SparkScans(lane.spark)
    for attempt in (
        lambda: lane.version(gone),
        lambda: lane.history(gone),
        lambda: lane.read(gone),
        lambda: lane.read(gone, version=0),
        lambda: lane.files(gone),
        lambda: lane.merge(gone, messages(0), merge),
        lambda: lane.append(gone, messages(0), "x"),
        lambda: lane.append_frame(gone, frame, "x"),
        lambda: lane.delete(gone, ()),
        lambda: lane.compact(gone),
        lambda: lane.vacuum(gone),
        lambda: scans.fold(gone, Window()),
        lambda: scans.rows(gone, Window(), ["position"]),
        lambda: frames.everything(lane.spark, gone),
    ):
        with pytest.raises(TableMissing):
            attempt()


def test_merge_changes_adds_and_removes_and_writes_nothing_for_nothing(
    lane: SparkLane, tmp_path: Path
) -> None:
    table = f"delta.`{tmp_path}/snapshots`"

    def row(name: str, etag: str) -> pa.Table:
        return pa.Table.from_pylist([{"name": name, "etag": etag}], schema=SNAPSHOTS.columns)

    lane.create(table, SNAPSHOTS, row("a", "1"))
    same: list[Match] = [("name", "=", "name")]
    assert lane.merge(table, row("b", "1"), Merge(same, insert=True)) == 1
    assert lane.merge(table, row("b", "2"), Merge(same, insert=True)) == 0
    assert lane.merge(table, row("b", "2"), Merge(same, update=["etag"])) == 1
    assert lane.merge(table, row("c", "2"), Merge(same, update=["etag"])) == 0
    assert lane.merge(table, row("a", "2"), Merge(same, delete=True)) == 1
    assert lane.read(table, columns=["name", "etag"]).to_pylist() == [{"name": "b", "etag": "2"}]
    assert lane.version(table) == 3
    assert lane.delete(table, [("name", "=", "c")]) == 0
    assert lane.delete(table, ()) == 1
    assert lane.version(table) == 4


def test_a_nested_row_is_merged_and_read_again(lane: SparkLane, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path}/ack_state/{UID}`"
    span = {
        "state": "leased",
        "failures": 0,
        "delivery_attempt": 1,
        "lease_id": 7,
        "failed_lease_id": None,
        "until": LATE,
        "forward_to": None,
        "message_count": 3,
        "publish_time_min": NOON,
        "publish_time_max": NOON,
        "positions": b"\x00\xff",
    }
    captured = {"spans": [span], "after_version": 3, "floor": None, "filter": ""}
    seek = {"at": NOON, "at_version": 1, "time": None, "covered_from": None, "captured": captured}
    row = {"revision": 1, "spans": [span, span], "seeks": [seek], "recent_commits": ["x"]}
    rows = pa.Table.from_pylist([row], schema=ACK_STATE.columns)
    lane.create(table, ACK_STATE, rows)
    assert lane.read(table).equals(rows)
    following = rows.set_column(0, ACK_STATE.columns.field(0), pa.array([2], pa.int64()))
    swap = Merge([("revision", "=", "expected")], update=ACK_STATE.columns.names)
    new = following.append_column("expected", pa.array([1], pa.int64()))
    assert lane.merge(table, new, swap) == 1
    assert lane.merge(table, new, swap) == 0
    assert lane.read(table).equals(following)
    assert lane.read(table, version=0).equals(rows)
    lane.drop(table)
    assert lane.read(table).num_rows == 0


def test_tables_of_a_catalog_are_created_with_their_schema_and_dropped(lane: SparkLane) -> None:
    table = "`pubsub_lane`.`messages_0`"
    try:
        lane.create(table, MESSAGES)
        assert lane.exists(table)
        assert lane.append(table, messages(0), "x")
        lane.drop(table)
        assert not lane.exists(table)
    finally:
        lane.spark.sql("DROP SCHEMA IF EXISTS pubsub_lane CASCADE")


class Dropping:
    """A session beside which another program drops a table while this one is about to read it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def table(self, name: str) -> DataFrame:
        return self._dropped(self._spark.table(name))

    def sql(self, statement: str) -> DataFrame:
        rows = self._spark.sql(statement)
        return self._dropped(rows) if statement.startswith("SELECT") else rows

    def _dropped(self, rows: DataFrame) -> DataFrame:
        self._spark.sql(f"DROP TABLE {SNAPSHOT}")
        return rows


SNAPSHOT = "`pubsub_lane`.`snapshot_0`"


@pytest.mark.parametrize("version", [None, 1], ids=["as it is", "as it was"])
def test_a_table_that_is_dropped_while_it_is_read_is_missing_and_not_damaged(
    lane: SparkLane, version: int | None
) -> None:
    """A seek to a snapshot that is deleted meanwhile is NotFound, and no damage is told."""
    dropping: Any = Dropping(lane.spark)
    try:
        lane.create(SNAPSHOT, MESSAGES)
        lane.append(SNAPSHOT, messages(0), "x")
        with pytest.raises(TableMissing):
            SparkLane(dropping, TableLocks(None)).read(SNAPSHOT, version=version)
    finally:
        lane.spark.sql("DROP SCHEMA IF EXISTS pubsub_lane CASCADE")


def test_what_a_kill_left_where_a_table_is_to_be_created_is_told(lane: SparkLane) -> None:
    """Delta writes the first commit of a table before the catalog has the table."""
    try:
        lane.spark.sql("CREATE SCHEMA pubsub_lane")
        location = location_of_schema(lane.spark, "pubsub_lane")
        lane.create(f"delta.`{location}/topics`", TOPICS)
        with pytest.raises(FailedPrecondition, match="files are where it is to be created"):
            lane.create("`pubsub_lane`.`topics`", TOPICS)
    finally:
        lane.spark.sql("DROP SCHEMA IF EXISTS pubsub_lane CASCADE")


def test_files_are_told_and_made_fewer(lane: SparkLane, topic: str) -> None:
    lane.append(topic, messages(0, 1), "first")
    lane.append(topic, messages(5, 7, time=LATE), "second")
    lower, higher = sorted(lane.files(topic), key=lambda file: file.position_min or 0)
    assert (lower.rows, lower.position_min, lower.position_max) == (2, 0, 1)
    assert (higher.position_min, higher.position_max) == (5, 7)
    assert higher.publish_time_min == higher.publish_time_max == LATE
    assert higher.publish_date == date(2026, 1, 1)
    assert lower.size > 0
    assert lane.compact(topic) == 2
    lane.vacuum(topic)
    with pytest.raises(FailedPrecondition, match="Spark lane cannot remove the commits"):
        lane.clean_log(topic, timedelta(days=8))
    assert [file.rows for file in lane.files(topic)] == [4]


def test_what_a_table_is_made_to_forbid_is_refused_by_name(lane: SparkLane, topic: str) -> None:
    """ "Only documented errors": another program has set a property, or added a constraint."""
    forbidden = "the table forbids this write .*remove it from the table"
    lane.append(topic, messages(0, 1), "first")
    lane.spark.sql(f"ALTER TABLE {topic} ADD CONSTRAINT theirs CHECK (position < 5)")
    with pytest.raises(FailedPrecondition, match=forbidden):
        lane.append(topic, messages(5), "second")
    lane.spark.sql(f"ALTER TABLE {topic} SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    with pytest.raises(FailedPrecondition, match=forbidden):
        lane.delete(topic, ())
