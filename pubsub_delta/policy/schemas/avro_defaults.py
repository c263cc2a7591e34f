"""Converts the defaults of Avro fields from JSON to values.

``fastavro`` fills a field that the writer did not have with the JSON of its default: text for
bytes, a number for a time, and for a record only the fields in the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from pubsub_delta.policy.schemas.avro_binary import resolved
from pubsub_delta.policy.schemas.avro_json import JsonReader, name_of
from pubsub_delta.policy.schemas.types import SchemaMismatch

IN_JSON = "default_in_json"
"""The key of a field of a parsed schema with the JSON of its default."""

_EPOCH = datetime(1970, 1, 1)
_LOGICAL: Mapping[str, Callable[[int], Any]] = {
    "date": lambda days: date(1970, 1, 1) + timedelta(days=days),
    "time-millis": lambda millis: (_EPOCH + timedelta(milliseconds=millis)).timetz(),
    "time-micros": lambda micros: (_EPOCH + timedelta(microseconds=micros)).timetz(),
    "timestamp-millis": lambda millis: _aware(timedelta(milliseconds=millis)),
    "timestamp-micros": lambda micros: _aware(timedelta(microseconds=micros)),
    "local-timestamp-millis": lambda millis: _EPOCH + timedelta(milliseconds=millis),
    "local-timestamp-micros": lambda micros: _EPOCH + timedelta(microseconds=micros),
}


def _aware(since: timedelta) -> datetime:
    return _EPOCH.replace(tzinfo=timezone.utc) + since


def read_defaults(schema: Any, named: Mapping[str, Any]) -> None:
    """Replace the defaults of the fields of a parsed schema, and of its named types, by values."""
    for each in (schema, *named.values()):
        _of_fields(each, named, set())


def _of_fields(schema: Any, named: Mapping[str, Any], seen: set[int]) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _of_fields(branch, named, seen)
    if not isinstance(schema, dict) or id(schema) in seen:
        return
    seen.add(id(schema))
    for inner in ("type", "items", "values"):
        _of_fields(schema.get(inner), named, seen)
    for field in schema.get("fields", ()):
        _of_fields(field["type"], named, seen)
        if "default" in field and IN_JSON not in field:
            field[IN_JSON] = field["default"]
            field["default"] = _checked(field, named)


def _checked(field: Any, named: Mapping[str, Any]) -> Any:
    """Return the value of a field's default; SchemaMismatch unless it is one of the type."""
    where, default = f"the default of field {field['name']!r}", field[IN_JSON]
    try:
        _DefaultReader(field["type"], named).check(default)
        return value_of(field["type"], default, named)
    except SchemaMismatch as why:
        raise SchemaMismatch(f"{where}: {why}") from None
    except ArithmeticError:
        raise SchemaMismatch(
            f"{where}: a date or time of the years 1 to 9999 is accepted"
        ) from None


def value_of(schema: Any, default: Any, named: Mapping[str, Any]) -> Any:
    r"""Return the value of a default from its JSON.

    Avro: bytes are text of a character a byte, and the default of a union is one of its branches.

    >>> value_of("bytes", "\xff", {}), value_of(["null", "int"], None, {})
    (b'\xff', None)
    >>> value_of({"type": "int", "logicalType": "date"}, 1, {})
    datetime.date(1970, 1, 2)
    """
    schema = resolved(schema, named)
    if isinstance(schema, list):
        reader = _DefaultReader(schema, named)
        branch = next(each for each in schema if reader.is_of(each, default))
        return value_of(branch, default, named)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "array":
        return [value_of(schema["items"], each, named) for each in default]
    if kind == "map":
        return {key: value_of(schema["values"], each, named) for key, each in default.items()}
    if kind in ("record", "error"):
        return {field["name"]: _of_field(field, default, named) for field in schema["fields"]}
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if kind in ("bytes", "fixed"):
        raw = default.encode("latin-1")
        if logical != "decimal":
            return raw
        unscaled = int.from_bytes(raw, "big", signed=True)
        return Decimal(f"{unscaled}E{-schema.get('scale', 0)}")
    if kind in ("float", "double"):
        return float(default)
    read = _LOGICAL.get(str(logical))
    return default if read is None else read(default)


def _of_field(field: Any, default: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
    if field["name"] in default:
        return value_of(field["type"], default[field["name"]], named)
    if IN_JSON in field and field["default"] is not field[IN_JSON]:  # it is a value by now
        return field["default"]
    return value_of(field["type"], field.get(IN_JSON, field.get("default")), named)


class _DefaultReader(JsonReader):
    """Checks defaults. Avro: a union's is one of any of its branches, and not in an object.

    A record may leave out the fields that have defaults themselves. Each part of a default is
    checked against each branch once, however its types are nested.
    """

    def __init__(self, schema: Any, named: Mapping[str, Any]) -> None:
        super().__init__(schema, named)
        self._fits: dict[tuple[str | int, int], bool] = {}

    def check(self, default: Any) -> None:
        """Raise SchemaMismatch unless a default is one of the type."""
        self._value(self._schema, default, "")

    def is_of(self, branch: Any, default: Any) -> bool:
        """Return whether a default is of a branch of a union."""
        key = branch if isinstance(branch, str) else id(branch), id(default)
        if key not in self._fits:
            try:
                self._value(branch, default, "")
                self._fits[key] = True
            except SchemaMismatch:
                self._fits[key] = False
        return self._fits[key]

    def _union(self, branches: list[Any], value: Any, path: str) -> None:
        if not any(self.is_of(each, value) for each in branches):
            names = ", ".join(map(name_of, branches))
            raise SchemaMismatch(f"{path or 'the value'} is of none of {names}")

    def _record(self, schema: Any, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            fields = [f for f in schema["fields"] if f["name"] in value or "default" not in f]
            value = {f["name"]: value[f["name"]] for f in fields if f["name"] in value}
            schema = {**schema, "fields": fields}
        return super()._record(schema, value, path)
