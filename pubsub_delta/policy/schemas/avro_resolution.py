"""Reads values of one Avro schema by another: which branch of a union, and which logical type.

``fastavro`` takes the first branch of the reader's union to which a value can be promoted, though a
later one may be of its own type, and converts by the logical type of the writer. So a writer's
values get a logical type of their own, which converts them as their reader has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastavro.read import LOGICAL_READERS

from pubsub_delta.policy.schemas.types import check_digits

_BY_READER = "pubsub_delta.by_reader"
_BRANCHES = "pubsub_delta.branches"
_CONVERTED = ("int", "long", "bytes", "string", "fixed")
"""The types that can have a logical type."""


def as_writer(definition: Any) -> Any:
    """Return a definition without logical types, with that of the values to convert."""
    return _changed(definition, _converted)


def as_reader(definition: Any) -> Any:
    """Return a definition in whose unions each branch of a type without a name knows the others."""
    return _changed(definition, _knowing_branches)


def _by_reader(value: Any, writer: Any, reader: Any) -> Any:
    """Convert a value as its writer has it to the type and the logical type of its reader."""
    if isinstance(reader, dict):
        reader = reader.get(_BRANCHES, {}).get(writer["type"], reader)
    kind = reader["type"] if isinstance(reader, dict) else reader
    if kind in ("float", "double"):
        return float(value)
    if kind == "string" and isinstance(value, bytes):
        value = value.decode()
    elif kind == "bytes" and isinstance(value, str):
        value = value.encode()
    if not isinstance(reader, dict):
        return value
    if isinstance(value, bytes):
        check_digits(reader, value)
    convert = LOGICAL_READERS.get(f"{kind}-{reader.get('logicalType')}")
    return value if convert is None else convert(value, reader, None)


LOGICAL_READERS.update({f"{kind}-{_BY_READER}": _by_reader for kind in _CONVERTED})


def _converted(schema: Any) -> Any:
    """Return a type whose values ``_by_reader`` converts."""
    if isinstance(schema, list) or _kind(schema) not in _CONVERTED:
        return schema
    return {**_as_object(schema), "logicalType": _BY_READER}


def _knowing_branches(schema: Any) -> Any:
    """Return a union in which each branch of a type without a name knows the others."""
    if not isinstance(schema, list):
        return schema
    known = {_kind(each): each for each in schema if _kind(each) in _CONVERTED[:-1]}
    return [
        {**_as_object(each), _BRANCHES: known} if _kind(each) in known else each for each in schema
    ]


def _kind(schema: Any) -> Any:
    kind = schema["type"] if isinstance(schema, dict) else schema
    return kind if isinstance(kind, str) else None


def _as_object(schema: Any) -> Any:
    return schema if isinstance(schema, dict) else {"type": schema}


def _changed(given: Any, change: Callable[[Any], Any]) -> Any:
    """Return a definition with each type in it changed, the inner ones first."""
    if isinstance(given, list):
        given = [_changed(each, change) for each in given]
    elif isinstance(given, dict):
        names = ["items", "values"] if _kind(given) else ["type", "items", "values"]
        inner = {name: _changed(given[name], change) for name in names if name in given}
        if "fields" in given:
            of = given["fields"]
            inner["fields"] = [{**each, "type": _changed(each["type"], change)} for each in of]
        given = {**given, **inner}
    return change(given)
