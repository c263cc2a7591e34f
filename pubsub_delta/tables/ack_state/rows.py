"""Ack states as rows of Delta tables; every bitmap is checked when it is read.

A bitmap is stored with its CRC-32 behind it: a flipped bit can move a position without changing
their number. Other readers of the portable format ignore bytes after the bitmap.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pubsub_delta.clock import UTC
from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.ack_state import AckState, Captured, Counters, Seek, Span, State, Stream
from pubsub_delta.policy.metrics import metrics_of
from pubsub_delta.policy.positions import Positions

_CHECKSUM_MARK = b"crc1"
_CHECKSUM_LENGTH = len(_CHECKSUM_MARK) + 4


def row_of_state(state: AckState) -> dict[str, Any]:
    """Return an ack state as the columns that hold it, and those of its metrics."""
    metrics = metrics_of(state)
    return {
        "after_version": state.after_version,
        "floor": state.floor,
        "absorbed_below": state.absorbed_below,
        "next_lease_id": state.next_lease_id,
        "first_lease_id": state.first_lease_id,
        "active_time": state.active_time,
        "seeks": [_row_of_seek(seek) for seek in state.seeks],
        "spans": _rows_of_spans(state.spans),
        "streams": [_row_of_stream(stream) for stream in state.streams],
        "counters": asdict(state.counters),
        "num_undelivered_messages": metrics.num_undelivered_messages,
        "num_outstanding_messages": metrics.num_outstanding_messages,
        "oldest_unacked_publish_time": metrics.oldest_unacked_publish_time,
    }


def state_of_row(row: Mapping[str, Any], table: str) -> AckState:
    """Read an ack state; DataLoss names a damaged table."""
    return AckState(
        after_version=row["after_version"],
        floor=utc(row["floor"]),
        absorbed_below=row["absorbed_below"],
        next_lease_id=row["next_lease_id"],
        first_lease_id=row["first_lease_id"],
        active_time=utc(row["active_time"]),
        seeks=tuple(_seek(seek, table) for seek in row["seeks"]),
        spans=_spans(row["spans"], table),
        streams=tuple(_stream(stream, table) for stream in row["streams"]),
        counters=Counters(**row["counters"]),
    )


def row_of_captured(captured: Captured) -> dict[str, Any]:
    """Return the captured messages of a snapshot as a struct."""
    return {
        "spans": _rows_of_spans(captured.spans),
        "after_version": captured.after_version,
        "floor": captured.floor,
        "filter": captured.filter,
    }


def captured_of_row(row: Mapping[str, Any], table: str) -> Captured:
    """Read the captured messages of a snapshot; DataLoss names a damaged table."""
    return Captured(
        spans=_spans(row["spans"], table),
        after_version=row["after_version"],
        floor=utc(row["floor"]),
        filter=row["filter"],
    )


def utc(time: Any) -> Any:
    """Return a stored time in UTC, or None."""
    return time.astimezone(UTC) if isinstance(time, datetime) else None


def _row_of_seek(seek: Seek) -> dict[str, Any]:
    captured = None if seek.captured is None else row_of_captured(seek.captured)
    return {
        "at": seek.at,
        "at_version": seek.at_version,
        "time": seek.time,
        "covered_from": seek.covered_from,
        "captured": captured,
    }


def _seek(row: Mapping[str, Any], table: str) -> Seek:
    return Seek(
        at=utc(row["at"]),
        at_version=row["at_version"],
        time=utc(row["time"]),
        covered_from=utc(row["covered_from"]),
        captured=None if row["captured"] is None else captured_of_row(row["captured"], table),
    )


def _row_of_stream(stream: Stream) -> dict[str, Any]:
    return {
        "query_id": stream.query_id,
        "batch_id": stream.batch_id,
        "lease_id": stream.lease_id,
        "message_count": len(stream.positions),
        "positions": with_checksum(stream.positions),
    }


def _stream(row: Mapping[str, Any], table: str) -> Stream:
    return Stream(row["query_id"], row["batch_id"], row["lease_id"], _positions(row, table))


def _rows_of_spans(spans: Iterable[Span]) -> list[dict[str, Any]]:
    return [
        {
            "state": span.state.value,
            "failures": span.failures,
            "delivery_attempt": span.delivery_attempt,
            "lease_id": span.lease_id,
            "failed_lease_id": span.failed_lease_id,
            "until": span.until,
            "forward_to": span.forward_to,
            "message_count": len(span),
            "publish_time_min": span.publish_time_min,
            "publish_time_max": span.publish_time_max,
            "positions": with_checksum(span.positions),
        }
        for span in spans
    ]


def _spans(rows: Iterable[Mapping[str, Any]], table: str) -> tuple[Span, ...]:
    return tuple(
        Span(
            state=State(row["state"]),
            positions=_positions(row, table),
            publish_time_min=utc(row["publish_time_min"]),
            publish_time_max=utc(row["publish_time_max"]),
            failures=row["failures"],
            delivery_attempt=row["delivery_attempt"],
            lease_id=row["lease_id"],
            failed_lease_id=row["failed_lease_id"],
            until=utc(row["until"]),
            forward_to=row["forward_to"],
        )
        for row in rows
    )


def with_checksum(positions: Positions) -> bytes:
    """Return the bytes of a bitmap, followed by its checksum."""
    data = positions.to_bytes()
    return data + _CHECKSUM_MARK + zlib.crc32(data).to_bytes(4, "big")


def without_checksum(data: bytes) -> Positions:
    """Read a bitmap; ValueError if its checksum is missing or wrong."""
    body, checksum = data[:-_CHECKSUM_LENGTH], data[-_CHECKSUM_LENGTH:]
    if not checksum.startswith(_CHECKSUM_MARK):
        raise ValueError("its checksum cannot be read")
    if checksum[len(_CHECKSUM_MARK) :] != zlib.crc32(body).to_bytes(4, "big"):
        raise ValueError("it does not have the checksum that was written with it")
    return Positions.from_bytes(body)


def _positions(row: Mapping[str, Any], table: str) -> Positions:
    try:
        positions = without_checksum(row["positions"])
    except Exception as error:
        raise DataLoss(
            f"{table}: a bitmap of message positions cannot be read ({error}); restore an "
            "earlier version of it"
        ) from error
    if len(positions) != row["message_count"]:
        raise DataLoss(
            f"{table}: a bitmap holds {len(positions)} positions where {row['message_count']} "
            "were written; restore an earlier version of it"
        )
    return positions
