"""The columns of ``format("pubsub_delta")``, made from stored columns."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.datasource.options import Options
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.ack_state import Span
from pubsub_delta.tables.schemas import BACKLOG, BATCH, TEXT, WHOLE

STORED = pa.schema([each for each in BACKLOG if each.name not in ("state", "delivery_attempt")])
"""The columns of a topic's messages."""

DATABRICKS = pa.schema(
    [
        pa.field("messageId", TEXT),
        pa.field("payload", pa.binary()),
        pa.field("attributes", TEXT),
        pa.field("publishTimestampInMillis", WHOLE),
    ]
)
"""Those of the Pub/Sub connector of Databricks; attributes are a JSON object."""

_SOURCE = {
    "ack_id": "position",
    "message_id": "position",
    "state": "position",
    "delivery_attempt": "position",
    "messageId": "position",
    "payload": "data",
    "publishTimestampInMillis": "publish_time",
}
"""The stored column of a column that has another name."""


def columns_of(options: Options) -> pa.Schema:
    """Return the columns that options select."""
    if options.is_databricks:
        if options.backlog is not None:
            raise InvalidArgument(
                "columns: 'databricks' has no column for the state of a message, which a backlog "
                "has; 'pubsub_delta' is accepted"
            )
        return DATABRICKS
    if options.backlog is not None:
        return BACKLOG
    return BATCH if options.subscription is not None else STORED


def needed(names: Sequence[str]) -> list[str]:
    """Return the stored columns from which some columns are made, always with position.

    >>> needed(["message_id", "payload"])
    ['position', 'data']
    """
    return list(dict.fromkeys(["position", *(_SOURCE.get(name, name) for name in names)]))


def shaped(
    rows: pa.RecordBatch,
    columns: pa.Schema,
    *,
    spans: Sequence[Span] = (),
    ack_prefix: str = "",
    counted: bool = False,
) -> pa.RecordBatch:
    """Return stored rows with some columns.

    ``spans``: the state of each message, and its delivery attempt.
    """
    positions = rows.column("position")
    makers: Mapping[str, Callable[[], pa.Array]] = {
        "ack_id": lambda: _ack_ids(positions, ack_prefix),
        "message_id": lambda: positions.cast(TEXT),
        "messageId": lambda: positions.cast(TEXT),
        "payload": lambda: rows.column("data"),
        "ordering_key": lambda: pc.fill_null(rows.column("ordering_key"), ""),
        "state": lambda: _by_span(positions, spans, [each.state.value for each in spans], TEXT),
        "delivery_attempt": lambda: _by_span(
            positions,
            spans,
            [each.delivery_attempt if counted else None for each in spans],
            pa.int32(),
        ),
        "publishTimestampInMillis": lambda: _millis(rows.column("publish_time")),
    }
    made = []
    for column in columns:
        if column.name == "attributes" and column.type == TEXT:
            made.append(_json(rows.column("attributes")))
        else:
            maker = makers.get(column.name)
            found = rows.column(column.name) if maker is None else maker()
            made.append(found if found.type == column.type else found.cast(column.type))
    return pa.RecordBatch.from_arrays(made, schema=columns)


def _ack_ids(positions: pa.Array, prefix: str) -> pa.Array:
    """Return ``str(AckId(…))`` of each position."""
    check = zlib.crc32(prefix.encode())
    texts = map(str, positions.to_pylist())
    return pa.array([f"{prefix}{t}.{zlib.crc32(t.encode(), check)}" for t in texts], TEXT)


def _by_span(
    positions: pa.Array, spans: Sequence[Span], values: Sequence[object], type_: pa.DataType
) -> pa.Array:
    if len(set(values)) == 1:
        return pa.repeat(pa.scalar(values[0], type_), len(positions))
    numbers = positions.to_numpy(zero_copy_only=False)
    place = np.zeros(len(numbers), np.int64)
    for number, span in enumerate(spans):
        place[span.positions.holds(numbers)] = number
    return pa.array(list(values), type_).take(pa.array(place))


def _millis(times: pa.Array) -> pa.Array:
    """Return times as whole milliseconds, rounded down. No double holds all microseconds."""
    micros = times.cast(WHOLE)
    millis = pc.divide(micros, 1000)  # towards zero
    is_later = pc.less(micros, pc.multiply(millis, 1000))
    return pc.subtract(millis, is_later.cast(WHOLE))


def _json(attributes: pa.Array) -> pa.Array:
    """Return attributes as JSON objects.

    Bytes that are not UTF-8, as of another writer, are replaced: one message that cannot be read
    does not stop the ones after it.
    """
    stored = attributes.cast(pa.map_(pa.binary(), pa.binary())).to_pylist()
    texts = ({_text(key): _text(value) for key, value in pairs or ()} for pairs in stored)
    return pa.array([json.dumps(each) for each in texts], TEXT)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
