"""Avro's JSON encoding: read strictly, as Avro's specification writes it.

A union's value is ``null`` or ``{"type": value}``, bytes are text of one character a byte, and a
record has exactly its fields: Avro takes defaults only when another schema is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from pubsub_delta.policy.arguments import is_whole
from pubsub_delta.policy.schemas.json_data import read_json
from pubsub_delta.policy.schemas.types import SchemaMismatch, check_digits

_RANGES = {"int": 2**31, "long": 2**63}
_SHOWN = 60


class JsonReader:
    """Converts JSON values to values of a schema, as Avro's writer takes them.

    Args:
        schema: as ``fastavro`` parses it.
        named: its named types, by full name.
    """

    def __init__(self, schema: Any, named: Mapping[str, Any]) -> None:
        self._schema = schema
        self._named = named
        self._read: Mapping[str, Callable[[Any, Any, str], Any]] = {
            "record": self._record,
            "error": self._record,
            "enum": self._enum,
            "array": self._array,
            "map": self._map,
            "fixed": self._fixed,
        }

    def datum(self, data: bytes) -> Any:
        """Return the datum of a JSON text; SchemaMismatch with the path of a wrong value."""
        value = read_json(data)
        try:
            return self._value(self._schema, value, "")
        except RecursionError:
            raise SchemaMismatch("it is nested too deeply") from None

    def _value(self, schema: Any, value: Any, path: str) -> Any:
        if isinstance(schema, list):
            return self._union(schema, value, path)
        kind = schema["type"] if isinstance(schema, dict) else schema
        read = self._read.get(kind)
        if read is not None:
            return read(schema, value, path)
        if kind in self._named:
            return self._value(self._named[kind], value, path)
        found = _plain(kind, value, path)
        return _decimal(schema, found, path) if kind == "bytes" else found

    def _union(self, branches: list[Any], value: Any, path: str) -> Any:
        names = [name_of(each) for each in branches]
        if value is None:
            if "null" in names:
                return None
            raise _unfit(path, value, f"one of {', '.join(names)} in an object")
        if not isinstance(value, dict) or len(value) != 1:
            others = (f' or {{"{name}": …}}' for name in names if name != "null")
            raise _unfit(path, value, f"null{next(others, '')}")
        ((name, inner),) = value.items()
        if name not in names or name == "null":
            raise _unfit(path, value, f"one of {', '.join(names)} as the name")
        branch = branches[names.index(name)]
        return (name, self._value(branch, inner, _within(path, name)))

    def _record(self, schema: Any, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _unfit(path, value, f"an object, the record {schema['name']}")
        names = [field["name"] for field in schema["fields"]]
        for name in names:
            if name not in value:
                raise SchemaMismatch(f"field {_within(path, name)!r} is missing")
        for name in value:
            if name not in names:
                raise SchemaMismatch(f"field {_within(path, name)!r} is not in the schema")
        return {
            field["name"]: self._value(
                field["type"], value[field["name"]], _within(path, field["name"])
            )
            for field in schema["fields"]
        }

    def _enum(self, schema: Any, value: Any, path: str) -> Any:
        if not isinstance(value, str) or value not in schema["symbols"]:
            raise _unfit(path, value, f"one of {', '.join(schema['symbols'])}")
        return value

    def _array(self, schema: Any, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise _unfit(path, value, "an array")
        return [
            self._value(schema["items"], each, f"{path}[{place}]")
            for place, each in enumerate(value)
        ]

    def _map(self, schema: Any, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _unfit(path, value, "an object, a map")
        for key in value:
            _plain("string", key, path)
        return {
            key: self._value(schema["values"], each, _within(path, key))
            for key, each in value.items()
        }

    def _fixed(self, schema: Any, value: Any, path: str) -> Any:
        found = _bytes(value, path)
        if len(found) != schema["size"]:
            raise _unfit(path, value, f"{schema['size']} characters, one a byte")
        return _decimal(schema, found, path)


def name_of(schema: Any) -> str:
    """Return the name of a branch of a union, as it is in JSON."""
    if isinstance(schema, dict):
        return str(schema.get("name") or schema["type"])
    return str(schema)


def _plain(kind: str, value: Any, path: str) -> Any:
    whole = is_whole(value)
    if kind == "null":
        fits = value is None
    elif kind == "boolean":
        fits = isinstance(value, bool)
    elif kind in _RANGES:
        fits = whole and -_RANGES[kind] <= value < _RANGES[kind]
    elif kind in ("float", "double"):
        fits = whole or isinstance(value, float)
    elif kind == "string":
        fits = isinstance(value, str) and _is_text(value)
    else:
        return _bytes(value, path)
    if not fits:
        raise _unfit(path, value, f"a value of type {kind}")
    return _floating(value) if kind in ("float", "double") else value


def _floating(value: float) -> float:
    """Return the nearest floating-point number; infinity for one that is too large, as of 1e400."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _decimal(schema: Any, raw: bytes, path: str) -> bytes:
    try:
        check_digits(schema, raw)
    except SchemaMismatch as why:
        raise SchemaMismatch(f"field {path!r}: {why}") from None
    return raw


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes(value: Any, path: str) -> bytes:
    try:
        return value.encode("latin-1") if isinstance(value, str) else b"" + value
    except (TypeError, UnicodeEncodeError):
        raise _unfit(path, value, "text of characters up to U+00FF, one a byte") from None


def _within(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _unfit(path: str, value: Any, accepted: str) -> SchemaMismatch:
    shown = json.dumps(value, ensure_ascii=False)
    if len(shown) > _SHOWN:
        shown = f"{shown[: _SHOWN - 1]}…"
    where = f"field {path!r}" if path else "the value"
    return SchemaMismatch(f"{where} is {shown}; {accepted} is accepted")
