"""What ``format("pubsub_delta")`` reads in the processes of its tasks, without Spark."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import DataLoss, Message, PubSub
from pubsub_delta.datasource import partition_reader
from pubsub_delta.datasource.columns import STORED
from pubsub_delta.datasource.partitions import FilesPartition, spans_partitions
from pubsub_delta.policy.ack_state import Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct import DirectScans, scans
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.schemas import BACKLOG

TOPIC, NAME = "flights", "delays"


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    made = PubSub(None, str(tmp_path / "store"))
    made.create_topic(TOPIC)
    made.create_subscription(NAME, TOPIC)
    return made


def of_spans(
    store: PubSub, spans: list[Span], ack_prefix: str | None = None
) -> list[dict[str, Any]]:
    """Return what the tasks read of spans, each of which was sent to another process."""
    tables = store._tables
    table = tables.messages(store.get_topic(TOPIC).uid).table
    files = tables.lanes.control.files(table)
    parts = spans_partitions(
        table, spans, files, ack_prefix=ack_prefix, counted=True, ordered=False
    )
    return [
        row
        for part in pickle.loads(pickle.dumps(parts))
        for each in partition_reader.read_spans(tables, part, BACKLOG)
        for row in each.to_pylist()
    ]


def test_a_task_tells_of_each_message_what_its_span_tells(store: PubSub) -> None:
    """A backlog has the state and the delivery attempt of every message."""
    store.publish(TOPIC, ["a", "b", "c"])
    (first, second, third) = sorted(int(each.message_id) for each in store.peek(NAME))
    time = store.peek(NAME)[0].publish_time
    spans = [
        Span(State.AVAILABLE, Positions.of([first]), time, time),
        Span(State.BACKING_OFF, Positions.of([third]), time, time, delivery_attempt=7),
        Span(State.LEASED, Positions.of([second]), time, time, delivery_attempt=3),
    ]
    found = {row["data"]: (row["state"], row["delivery_attempt"]) for row in of_spans(store, spans)}
    assert found == {b"a": ("available", 1), b"b": ("leased", 3), b"c": ("backing_off", 7)}


def test_a_backlog_leaves_out_what_retention_has_deleted_and_a_lease_does_not(
    store: PubSub,
) -> None:
    """A read of a backlog goes on beside retention; of a lease nothing may be lost in silence."""
    store.publish(TOPIC, ["a", "b"])
    there = store.peek(NAME)[0]
    gone = int(store.peek(NAME)[1].message_id) + 1
    positions = Positions.of([int(there.message_id), gone])
    spans = [Span(State.AVAILABLE, positions, there.publish_time, there.publish_time)]
    assert [row["data"] for row in of_spans(store, spans)] == [b"a"]
    with pytest.raises(DataLoss, match="1 of 2 leased messages are missing"):
        of_spans(store, spans, ack_prefix="lease.")


def of_files(store: PubSub, columns: pa.Schema = STORED, **wanted: Any) -> list[dict[str, Any]]:
    tables = store._tables
    table = tables.messages(store.get_topic(TOPIC).uid).table
    reader = tables.lanes.local_scans
    assert isinstance(reader, DirectScans)
    version = tables.messages(store.get_topic(TOPIC).uid).history.version()
    paths = tuple(path for path, _, _ in reader.files(table, version, Window()))
    part = replace(FilesPartition(table, version, paths), **wanted)
    return [
        row
        for each in partition_reader.read_files(tables, part, columns)
        for row in each.to_pylist()
    ]


def test_files_are_read_in_groups_where_they_are_large(
    store: PubSub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "_SLICE", 1)
    store.publish(TOPIC, ["a", "b", "c"])
    assert [row["data"] for row in of_files(store)] == [b"a", b"b", b"c"]


def test_rows_of_files_are_left_out_by_time_and_key(store: PubSub) -> None:
    store.publish(TOPIC, [Message(b"a", {}, "x"), Message(b"b", {}, "y"), Message(b"c")])
    (first, *_) = of_files(store)
    time = first["publish_time"]
    later = time + timedelta(microseconds=1)
    assert of_files(store, earliest=later) == []
    assert len(of_files(store, earliest=time, latest=time)) == 3
    assert [row["data"] for row in of_files(store, ordering_keys=("x",))] == [b"a"]
    assert [row["data"] for row in of_files(store, ordering_keys=("",))] == [b"c"]


def test_a_column_that_is_not_selected_leaves_rows_out_all_the_same(store: PubSub) -> None:
    """Spark evaluates no filter again that a reader accepts, and selects what a query shows."""
    store.publish(TOPIC, [Message(b"a", {}, "x"), Message(b"b", {}, "y")])
    data = pa.schema([STORED.field("data")])
    assert of_files(store, data, ordering_keys=("y",)) == [{"data": b"b"}]
