"""Checks Avro's binary encoding before ``fastavro`` reads it.

``fastavro`` reads in C, and trusts the data. A few bytes can make it recurse deeply or allocate any
number of items, if the schema has recursive types, or items of zero bytes. Such data is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubsub_delta.policy.schemas.types import MOST_FIELDS, SchemaMismatch, check_digits

MOST_LEVELS = 100
"""The depth of nested records, as in Protocol Buffers."""
_MOST_EMPTY_ITEMS = 10_000
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
BITS = {"int": 32, "long": 64}
"""The sizes of Avro's whole numbers, with their sign."""
_MOST_DIGITS = 10
"""Bytes of an encoded 64-bit number."""


def check_empty(named: Mapping[str, Any]) -> None:
    """Raise SchemaMismatch for a type of zero bytes with more than ``MOST_FIELDS`` fields.

    They count at each use of a named type. A few such types have billions, which a message without
    bytes claims.
    """
    known: dict[str, int | None] = {}
    for each in named.values():
        if (_empty_fields(each, named, known) or 0) > MOST_FIELDS:
            raise SchemaMismatch(
                f"{each['name']} has more than {MOST_FIELDS:,} fields without bytes, with those of "
                "each use of a named type"
            )


def must_be_walked(schema: Any, named: Mapping[str, Any]) -> bool:
    """Return whether data of a schema must be checked before it is read.

    Recursive types and items of zero bytes let short data claim any depth or number of items.
    A reader would round a decimal with more digits than its precision.
    """
    return _claims(schema, named, (), set())


def _claims(schema: Any, named: Mapping[str, Any], within: tuple[str, ...], seen: set[str]) -> bool:
    schema = resolved(schema, named)
    if isinstance(schema, list):
        return any(_claims(each, named, within, seen) for each in schema)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "map":
        return _claims(schema["values"], named, within, seen)
    if kind == "array":
        items = schema["items"]
        is_empty = _empty_fields(items, named, {}) is not None
        return is_empty or _claims(items, named, within, seen)
    if kind not in ("record", "error"):
        return isinstance(schema, dict) and schema.get("logicalType") == "decimal"
    inner = (*within, schema["name"])
    if schema["name"] in within:
        return True
    if schema["name"] in seen:
        return False
    seen.add(schema["name"])
    return any(_claims(field["type"], named, inner, seen) for field in schema["fields"])


def _empty_fields(
    schema: Any, named: Mapping[str, Any], known: dict[str, int | None]
) -> int | None:
    """Return how many fields a type of zero bytes has; None for a type whose values have bytes."""
    schema = resolved(schema, named)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "null" or (kind == "fixed" and schema["size"] == 0):
        return 0
    if kind not in ("record", "error"):
        return None
    if schema["name"] not in known:
        known[schema["name"]] = None  # as it is for a type within itself
        inner = [_empty_fields(field["type"], named, known) for field in schema["fields"]]
        if None not in inner:
            known[schema["name"]] = len(inner) + sum(each or 0 for each in inner)
    return known[schema["name"]]


def resolved(schema: Any, named: Mapping[str, Any]) -> Any:
    """Return the definition of a type, which may be given by name."""
    return named.get(schema, schema) if isinstance(schema, str) else schema


def fits(number: int, kind: str) -> bool:
    """Return whether a number is one of a type of whole numbers.

    >>> fits(2**31 - 1, "int"), fits(2**31, "int"), fits(2**31, "long")
    (True, False, True)
    """
    return -(1 << BITS[kind] - 1) <= number < 1 << BITS[kind] - 1


class _Misfit(Exception):
    """Why a value does not fit, and the fields that lead to it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path: list[str] = []


class Walker:
    """Checks data against a schema, without building values.

    Args:
        schema: as ``fastavro`` parses it.
        named: its named types, by full name.
    """

    def __init__(self, schema: Any, named: Mapping[str, Any]) -> None:
        self._schema = schema
        self._named = named

    def check(self, data: bytes) -> None:
        """Raise SchemaMismatch, with the field, unless data is one value, not nested too deeply."""
        try:
            end = self._pass(self._schema, data, 0, 0)
        except _Misfit as why:
            where = f"field {'.'.join(why.path)!r}: " if why.path else ""
            raise SchemaMismatch(f"invalid Avro data: {where}{why}") from None
        if end < len(data):
            raise SchemaMismatch(f"invalid Avro data: {len(data) - end} bytes are left over")

    def _pass(self, schema: Any, data: bytes, at: int, level: int) -> int:
        """Return the end of the value that begins at an offset."""
        schema = resolved(schema, self._named)
        if isinstance(schema, list):
            index, at = _number(data, at)
            return self._pass(schema[_within(index, len(schema))], data, at, level)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind in ("record", "error"):
            if level == MOST_LEVELS:
                raise _Misfit(f"it is nested too deeply: {MOST_LEVELS} levels are accepted")
            for field in schema["fields"]:
                try:
                    at = self._pass(field["type"], data, at, level + 1)
                except _Misfit as why:
                    why.path.insert(0, field["name"])
                    raise
            return at
        if kind == "array":
            return self._blocks((schema["items"],), data, at, level)
        if kind == "map":
            return self._blocks(("string", schema["values"]), data, at, level)
        if kind in _SIZES:
            end = _to(at + _SIZES[kind], data)
            if kind == "boolean" and data[at] > 1:
                raise _Misfit(f"{data[at]} is not one of 0 to 1")
            return end
        if kind == "fixed":
            return _bytes(schema, data, at, schema["size"])
        number, at = _number(data, at)
        if kind in ("bytes", "string"):
            return _bytes(schema, data, at, _within(number, len(data) - at + 1))
        if kind == "enum":
            _within(number, len(schema["symbols"]))
        elif kind in BITS and not fits(number, kind):
            raise _Misfit(f"{number} has more than {BITS[kind]} bits")
        return at

    def _blocks(self, types: tuple[Any, ...], data: bytes, at: int, level: int) -> int:
        while True:
            count, at = _number(data, at)
            if not count:
                return at
            if count < 0:  # a negative count: the size of the block follows
                count = -count
                _, at = _number(data, at)
            for place in range(count):
                before = at
                for each in types:
                    at = self._pass(each, data, at, level)
                if at == before and place == _MOST_EMPTY_ITEMS:
                    raise _Misfit(f"it claims {count:,} items without bytes")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag-encoded number, and its end."""
    found = 0
    for digit in range(_MOST_DIGITS):
        byte = data[_to(at + 1, data) - 1]
        at += 1
        found |= (byte & 0x7F) << (7 * digit)
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at
    raise _Misfit("a number has too many bytes")


def _bytes(schema: Any, data: bytes, at: int, size: int) -> int:
    end = _to(at + size, data)
    if schema == "string" or (isinstance(schema, dict) and schema["type"] == "string"):
        try:
            data[at:end].decode()
        except UnicodeDecodeError as error:
            raise _Misfit(f"invalid UTF-8 ({error.reason} at byte {error.start})") from None
    try:
        check_digits(schema, data[at:end])
    except SchemaMismatch as why:
        raise _Misfit(str(why)) from None
    return end


def _within(index: int, count: int) -> int:
    if not 0 <= index < count:
        raise _Misfit(f"{index} is not one of 0 to {count - 1}")
    return index


def _to(end: int, data: bytes) -> int:
    if end > len(data):
        raise _Misfit("it ends too early")
    return end
