"""The plain layout: every table is Delta that every engine reads, whatever a session says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pubsub_delta.session import is_remote
from pubsub_delta.tables.lanes.choice import LaneName
from tests.conftest import Bench

DEFAULTS = {
    "appendOnly": "true",
    "columnMapping.mode": "name",
    "checkpointPolicy": "v2",
    "enableChangeDataFeed": "true",
    "enableDeletionVectors": "true",
    "enableRowTracking": "true",
    "enableInCommitTimestamps": "true",
}


@pytest.fixture
def hostile(spark: SparkSession) -> SparkSession:
    """A session whose defaults would give every new table what few engines can read."""
    if is_remote(spark):
        pytest.skip("a session of a server has no newSession()")
    session = spark.newSession()
    for name, value in DEFAULTS.items():
        session.conf.set(f"spark.databricks.delta.properties.defaults.{name}", value)
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    return session


@pytest.mark.both_lanes
@pytest.mark.parametrize("ansi", ["false", pytest.param("true", marks=pytest.mark.trial)])
def test_every_table_is_plain_whatever_the_sessions_defaults(
    hostile: SparkSession, lane: LaneName, tmp_path: Path, ansi: str
) -> None:
    # "Plain protocol everywhere (reader 1): no deletion vectors, no row tracking, no generated
    # columns, no column mapping, no appendOnly, whatever the session's table defaults say"
    hostile.conf.set("spark.sql.ansi.enabled", ansi)
    bench = Bench(hostile, str(tmp_path / "store"), lane)
    topic, subscription = bench.pair(retain_acked_messages=True)
    bench.store.publish(topic, ["a", "b"])
    bench.store.publish(topic, hostile.sql("SELECT 'c' AS data"))
    batch = bench.store.pull(subscription)
    assert {bytes(row["data"]) for row in batch.df.collect()} == {b"a", b"b", b"c"}
    bench.store.create_snapshot("kept", subscription)
    batch.ack()
    bench.store.seek(subscription, snapshot="kept")
    assert bench.store.pull(subscription).message_count == 3
    assert bench.store.maintain(exact=True, optimize=True).problems == {}
    tables = {log.parent for log in Path(bench.root).rglob("_delta_log")}
    kinds = sorted(table.relative_to(bench.root).parts[0] for table in tables)
    registry = ["snapshots", "subscriptions", "topics"]
    assert kinds == sorted(["ack_state", "messages", "positions", "snapshot", *registry])
    for table in tables:
        check_plain(DeltaTable(str(table)))


def check_plain(table: DeltaTable) -> None:
    protocol: Any = table.protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    assert not protocol.reader_features
    assert not protocol.writer_features
    properties = table.metadata().configuration
    switches = {name: value for name, value in properties.items() if value in ("true", "false")}
    switches.pop("delta.enableExpiredLogCleanup")
    assert set(switches.values()) == {"false"}
    assert properties["delta.columnMapping.mode"] == "none"
    assert properties["delta.checkpointPolicy"] == "classic"
    for field in table.schema().fields:
        assert "ntz" not in str(field.type)
        assert not field.metadata, "neither generated nor mapped"
