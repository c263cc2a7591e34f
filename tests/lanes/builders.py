"""Rows for the tables of a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from pubsub_delta.tables.lanes.protocol import Lane, Merge
from pubsub_delta.tables.layout_version import PROPERTY
from pubsub_delta.tables.schemas import ACK_STATE, MESSAGES, POSITIONS, TableSchema

NOON = datetime(2025, 1, 1, 12, tzinfo=timezone.utc)


CAS = Merge(
    on=[("next_position", "=", "was")], update=("next_position", "reservation_id")
)  # compare and swap
"""A compare-and-swap of a table of positions."""


def at(**since_noon: float) -> datetime:
    return NOON + timedelta(**since_noon)


def messages(first: int, *data: bytes | None, time: datetime = NOON, **columns: Any) -> pa.Table:
    """Return messages from a position on; a column is one value for all, or a list of values."""
    count = len(data)

    def spread(name: str, default: Any) -> list[Any]:
        value = columns.get(name, default)
        return value if isinstance(value, list) else [value] * count

    return pa.table(
        {
            "position": spread("position", list(range(first, first + count))),
            "publish_date": [time.date()] * count,
            "publish_time": [time] * count,
            "ordering_key": spread("ordering_key", ""),
            "attributes": [
                each if each is None else list(each.items()) for each in spread("attributes", {})
            ],
            "data": list(data),
        },
        schema=MESSAGES.columns,
    )


def numbers(first: int, count: int, **columns: Any) -> pa.Table:
    """Return messages whose data is their position."""
    return messages(first, *(b"%d" % n for n in range(first, first + count)), **columns)


def topic(lane: Lane, table: str, *publishes: pa.Table) -> str:
    """Create a topic's table with some publishes."""
    lane.create(table, MESSAGES)
    for number, rows in enumerate(publishes):
        lane.append(table, rows, f"publish {number}")
    return table


def next_position(value: int, reservation: str = "a", was: int | None = None) -> pa.Table:
    rows = pa.table(
        {"next_position": [value], "reservation_id": [reservation]}, schema=POSITIONS.columns
    )
    return rows if was is None else rows.append_column("was", pa.array([was]))


def ack_state(revision: int, **columns: Any) -> pa.Table:
    row = {"revision": revision, "commit_id": f"commit {revision}", **columns}
    return pa.Table.from_pylist([row], schema=ACK_STATE.columns)


def shortlived(schema: TableSchema) -> TableSchema:
    """Return a schema whose tables keep nothing of their past."""
    moment = "interval 0 seconds"
    times = {"delta.logRetentionDuration": moment, "delta.deletedFileRetentionDuration": moment}
    return replace(schema, properties={**schema.properties, **times})


def column(rows: pa.Table, name: str) -> Sequence[Any]:
    return list(rows[name].to_pylist())


def of_delta(schema: TableSchema) -> TableSchema:
    """Return a schema without properties of our own: rows of version 0 go only beside Delta's."""
    known = {name: value for name, value in schema.properties.items() if name != PROPERTY}
    return replace(schema, properties=known)
