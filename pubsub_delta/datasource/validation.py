"""Validates the messages that tasks publish: by column if that decides, else one by one."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.delivery.message_rows import checked_rows
from pubsub_delta.policy.messages import (
    MAX_KEY_BYTES,
    MAX_ORDERING_KEY_BYTES,
    MAX_VALUE_BYTES,
    RESERVED_PREFIX,
)
from pubsub_delta.tables.schemas import MESSAGES, TEXT, TEXT_BY_TEXT

_DATA = pa.binary()
_SURE_DATA = 1_000_000
"""Bytes of data below which a message with few attributes cannot be too large."""
_SURE_ATTRIBUTES = 10
_TYPES = {"data": (_DATA, TEXT), "attributes": (TEXT_BY_TEXT,), "ordering_key": (TEXT,)}


def checked(batch: pa.RecordBatch) -> pa.Table:
    """Return the columns ordering_key, attributes and data as they are stored; InvalidArgument.

    A check by column accepts nearly all batches, without a check of each message.
    """
    usual = _usual(batch)
    if usual is not None:
        return usual
    return checked_rows(pa.Table.from_batches([batch]), None)


def _usual(batch: pa.RecordBatch) -> pa.Table | None:
    """Return the messages if all surely keep every rule; None if that is not sure."""
    columns = {}
    for name, types in _TYPES.items():
        if name not in batch.schema.names:
            columns[name] = _absent(name, batch.num_rows)
            continue
        column = batch.column(name)
        if column.type not in types:
            return None
        columns[name] = column
    try:
        for column in columns.values():
            column.validate(full=True)  # texts are UTF-8
    except pa.ArrowInvalid:
        return None
    columns["data"] = columns["data"].cast(_DATA)
    columns["ordering_key"] = pc.fill_null(columns["ordering_key"], "")
    if not (_are_within(columns["data"], 1, _SURE_DATA) and _have_short_keys(columns)):
        return None
    rows = {name: columns[name] for name in ("ordering_key", "attributes", "data")}
    return pa.table(rows, schema=pa.schema([MESSAGES.columns.field(name) for name in rows]))


def _absent(name: str, count: int) -> pa.Array:
    if name == "attributes":
        return pa.array([[]] * count, TEXT_BY_TEXT)
    return pa.nulls(count, _DATA) if name == "data" else pa.repeat(pa.scalar(""), count)


def _have_short_keys(columns: dict[str, pa.Array]) -> bool:
    if not _are_within(columns["ordering_key"], 0, MAX_ORDERING_KEY_BYTES):
        return False
    attributes = columns["attributes"]
    if attributes.null_count:
        return False
    entries = attributes.cast(pa.list_(_ENTRY))
    counts = pc.list_value_length(entries)
    if len(counts) and pc.max(counts).as_py() > _SURE_ATTRIBUTES:
        return False
    flat = pc.list_flatten(entries)
    keys, values = (pc.struct_field(flat, each) for each in (0, 1))
    if not (_are_within(keys, 1, MAX_KEY_BYTES) and _are_within(values, 0, MAX_VALUE_BYTES)):
        return False
    if pc.any(pc.starts_with(keys, pattern=RESERVED_PREFIX, ignore_case=True)).as_py():
        return False
    named = pa.table({"row": pc.list_parent_indices(entries), "key": keys})
    return bool(named.group_by(["row", "key"]).aggregate([]).num_rows == named.num_rows)


_ENTRY = pa.struct([pa.field("key", TEXT, nullable=False), pa.field("value", TEXT)])


def _are_within(texts: pa.Array, least: int, most: int) -> bool:
    """Return whether no text is null, and each has ``least`` to ``most`` bytes."""
    if texts.null_count:
        return False
    if not len(texts):
        return True
    found = pc.min_max(pc.binary_length(texts)).as_py()
    return bool(least <= found["min"] and found["max"] <= most)
