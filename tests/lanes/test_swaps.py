"""A row is replaced or deleted by whoever knows it, in either lane."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pubsub_delta.tables.lanes.protocol import Lane, TableMissing
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.schemas import POSITIONS, TOPICS
from tests.lanes.builders import CAS, next_position, of_delta

UID = "1" * 32


def test_without_a_version_the_row_tells_whether_it_is_the_expected_one(
    lane: Lane, root: str
) -> None:
    table = layout_of(root).positions(UID)
    lane.create(table, POSITIONS, next_position(1))
    assert lane.swap(table, next_position(5, was=1), CAS, None)
    assert not lane.swap(table, next_position(9, was=1), CAS, None)
    rows, version = lane.read_latest(table)
    assert rows["next_position"].to_pylist() == [5]
    assert version in (None, 1)


def test_a_row_is_deleted_once(lane: Lane, root: str) -> None:
    table = layout_of(root).topics
    with pytest.raises(TableMissing):
        lane.delete(table, [("uid", "=", "1")], "a")
    row = pa.Table.from_pylist([{"uid": "1", "name": "n"}], schema=TOPICS.columns)
    lane.create(table, of_delta(TOPICS), row)
    assert not lane.delete(table, [("uid", "=", "2")], "a")
    assert lane.delete(table, [("uid", "=", "1")], "b")
    assert not lane.delete(table, [("uid", "=", "1")], "c")
    assert lane.read(table).num_rows == 0
