"""Messages with the fields of their data as columns, in Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from pubsub_delta.policy.schemas.types import (
    DecimalOf,
    FieldType,
    ListOf,
    MapOf,
    RecordOf,
)
from pubsub_delta.policy.schemas.validation import SchemaMismatch, TypedReader
from pubsub_delta.tables.schemas import MESSAGE_COLUMNS, MESSAGES, TEXT, TIME

SCHEMA_ERROR = "schema_error"
"""The column that says why the fields of a message are null; null if they could be read."""

_PREFIX = "field_"
_PLAIN: Mapping[str, pa.DataType] = {
    "string": TEXT,
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": TIME,
}


def typed_schema(typing: TypedReader) -> pa.Schema:
    """Return the columns of typed messages: those of messages, their fields, and the error.

    A field with the name of another column, in any case, gets the prefix ``field_``.
    """
    fields = [pa.field("message_id", TEXT), *(MESSAGES.columns.field(n) for n in MESSAGE_COLUMNS)]
    columns = column_names(name for name, _ in typing.fields.fields)
    for (_, type_), column in zip(typing.fields.fields, columns, strict=True):
        fields.append(pa.field(column, arrow_type(type_)))
    return pa.schema([*fields, pa.field(SCHEMA_ERROR, TEXT)])


def column_names(fields: Iterable[str]) -> list[str]:
    """Return the names of the columns of fields, no two of which differ by case alone.

    >>> column_names(["sku", "data", "SKU"])
    ['sku', 'field_data', 'field_SKU']
    """
    taken = {"message_id", *MESSAGE_COLUMNS, SCHEMA_ERROR}
    found = []
    for each in fields:
        name = each
        while name.lower() in taken:
            name = _PREFIX + name
        taken.add(name.lower())
        found.append(name)
    return found


def typed_rows(messages: pa.Table, typing: TypedReader) -> pa.Table:
    """Return messages (message_id and the columns of a message) with their fields."""
    schema = typed_schema(typing)
    read: list[dict[str, Any]] = []
    errors: list[str | None] = []
    for data, attributes in zip(messages["data"], messages["attributes"], strict=True):
        try:
            read.append(typing.values(data.as_py() or b"", dict(attributes.as_py() or ())))
            errors.append(None)
        except SchemaMismatch as why:
            read.append({})
            errors.append(str(why))
    columns: dict[str, Any] = {n: messages[n] for n in ("message_id", *MESSAGE_COLUMNS)}
    names = column_names(name for name, _ in typing.fields.fields)
    for (field, _), name in zip(typing.fields.fields, names, strict=True):
        values = [each.get(field) for each in read]
        columns[name] = pa.array(values, schema.field(name).type)
    columns[SCHEMA_ERROR] = pa.array(errors, TEXT)
    return pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)


def arrow_type(type_: FieldType) -> pa.DataType:
    """Return the Arrow type of a field."""
    if isinstance(type_, DecimalOf):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, ListOf):
        return pa.list_(arrow_type(type_.item))
    if isinstance(type_, MapOf):
        return pa.map_(TEXT, arrow_type(type_.value))
    if isinstance(type_, RecordOf):
        return pa.struct([pa.field(name, arrow_type(inner)) for name, inner in type_.fields])
    return _PLAIN[type_]
