"""The plain layout: every table is Delta that every engine reads, whatever a session says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pubsub_delta.session import is_remote
from pubsub_delta.tables.lanes.choice import LaneName
from tests.conftest import Bench, states

DEFAULTS = {
    "appendOnly": "true",
    "columnMapping.mode": "name",
    "checkpointPolicy": "v2",
    "enableChangeDataFeed": "true",
    "enableDeletionVectors": "true",
    "enableRowTracking": "true",
    "enableInCommitTimestamps": "true",
    "feature.deletionVectors": "supported",
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


@pytest.mark.parametrize("ansi", ["false", pytest.param("true", marks=pytest.mark.trial)])
def test_every_verb_leaves_plain_tables_whatever_the_sessions_defaults(
    hostile: SparkSession, lane: LaneName, tmp_path: Path, ansi: str
) -> None:
    # "Plain protocol everywhere (reader 1): no deletion vectors, no row tracking, no generated
    # columns, no column mapping, no appendOnly, whatever the session's table defaults say"
    hostile.conf.set("spark.sql.ansi.enabled", ansi)
    hostile.conf.set("spark.sql.ansi.enforceReservedKeywords", ansi)
    bench = Bench(hostile, str(tmp_path / "store"), lane)
    use_every_verb(bench)
    tables = {log.parent for log in Path(bench.root).rglob("_delta_log")}
    kinds = {table.relative_to(bench.root).parts[0] for table in tables}
    registry = {"schemas", "snapshots", "subscriptions", "topics"}
    assert kinds == {"ack_state", "messages", "positions", "snapshot", *registry}
    for table in tables:
        check_plain(DeltaTable(str(table)))


def use_every_verb(bench: Bench) -> None:
    """Use a store by each of its verbs, and see that it does what it says."""
    store = bench.store
    topic, name = bench.pair(retain_acked_messages=True)
    first = store.publish(topic, ["a", "b"])
    bench.clock.advance(1)
    store.publish(topic, bench.spark.sql("SELECT 'c' AS data"))
    batch = store.pull(name)
    assert {bytes(row["data"]) for row in batch.df.collect()} == {b"a", b"b", b"c"}
    ids = [message.ack_id for message in batch]
    assert batch.modify_ack_deadline(60, ids[:1]).counts["success"] == 1
    assert batch.nack(ids[1:2]).counts["success"] == 1
    assert states(bench, name) == {b"a": "leased", b"b": "available", b"c": "leased"}
    store.create_snapshot("kept", name)
    assert store.acknowledge(name, ids).counts == {"success": 2, "expired": 1, "invalid": 0}
    assert store.topic_history(topic)[0].version == 2
    ahead = store.preview_seek(name, time=first.publish_time)
    assert (ahead.unacked_before, ahead.unacked_after) == (0, 3)
    store.seek(name, time=bench.clock.now())
    assert [message.data for message in store.peek(name)] == [b"c"]
    store.seek(name, snapshot="kept")
    assert store.survey_ack_state(name).unacked_count == 3
    store.update_subscription(name, ack_deadline_seconds=30)
    assert store.pull(name, 2).message_count == 2
    assert store.metrics(name)["num_outstanding_messages"] == 2
    assert sum(day.message_count for day in store.messages_by_day(topic)) == 3
    assert len(store.subscription_history(name)) > 1
    bench.clock.advance(86_400)
    told = store.maintain(exact=True, optimize=True, vacuum=True)
    assert (told.problems, told.discarded) == ({}, {})  # all are retained
    store.detach_subscription(name)
    store.delete_snapshot("kept")
    told = store.maintain(exact=True)
    assert told.discarded == {f"projects/local/topics/{topic}": 3}
    store.delete_subscription(name)
    store.delete_topic(topic)
    assert store.list_topics() == []


def check_plain(table: DeltaTable) -> None:
    protocol: Any = table.protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    assert not protocol.reader_features
    assert not protocol.writer_features
    properties = table.metadata().configuration
    switches = {name: value for name, value in properties.items() if value in ("true", "false")}
    switches.pop("delta.enableExpiredLogCleanup")
    assert set(switches.values()) == {"false"}
    assert properties.get("delta.columnMapping.mode", "none") == "none"
    assert properties["delta.checkpointPolicy"] == "classic"
    for field in table.schema().fields:
        assert "ntz" not in str(field.type)
        assert not field.metadata, "neither generated nor mapped"
