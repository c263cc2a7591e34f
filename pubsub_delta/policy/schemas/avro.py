"""Avro: validates definitions, compares revisions, and reads messages.

The library ``avro`` implements the rules of the specification, ``fastavro`` reads quickly.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime, time
from decimal import Decimal
from functools import cached_property
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro
from avro import schema as rules
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from fastavro.validation import validate

from pubsub_delta.errors import InvalidArgument, first_line
from pubsub_delta.policy.schemas.avro_binary import (
    BITS,
    Walker,
    check_empty,
    fits,
    must_be_walked,
)
from pubsub_delta.policy.schemas.avro_defaults import read_defaults
from pubsub_delta.policy.schemas.avro_json import JsonReader
from pubsub_delta.policy.schemas.avro_resolution import as_reader, as_writer
from pubsub_delta.policy.schemas.json_data import read_json
from pubsub_delta.policy.schemas.types import (
    MOST_DIGITS,
    TEXT,
    DecimalOf,
    FieldCount,
    FieldType,
    ListOf,
    MapOf,
    RecordOf,
    SchemaMismatch,
)
from pubsub_delta.schemas import Encoding

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = {
    "null": TEXT,
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "fixed": "binary",
    "string": TEXT,
    "enum": TEXT,
}
_LOGICAL: dict[str, FieldType] = {
    "int-date": "date",
    "long-timestamp-millis": "timestamp",
    "long-timestamp-micros": "timestamp",
    "long-local-timestamp-millis": TEXT,
    "long-local-timestamp-micros": TEXT,
    "int-time-millis": TEXT,
    "long-time-micros": TEXT,
    "string-uuid": TEXT,
}


def check_definition(definition: str) -> None:
    """Raise InvalidArgument unless a text defines a record by Avro's specification."""
    try:
        given = read_json(definition.encode())
        _check_names(given)
        _rules_of(definition)
        named: dict[str, Any] = {}
        fastavro.parse_schema(given, named)
        check_empty(named)
        AvroCodec(definition)  # it checks default values
    except Exception as error:
        raise InvalidArgument(
            f"definition: it is not an Avro schema ({first_line(error)}); "
            "the JSON of a record, by Avro's specification, is accepted"
        ) from None
    if not isinstance(given, dict) or given.get("type") != "record":
        raise InvalidArgument(
            "definition: its type is not 'record'; a record, with the types of its fields inside, "
            "is accepted"
        )


def check_compatible(new: str, old: str) -> None:
    """Raise SchemaMismatch unless each of two definitions can read data of the other.

    Pub/Sub: a new revision follows Avro's rules of schema resolution as reader and as writer.
    """
    one, other = _rules_of(new), _rules_of(old)
    for reader, writer in ((one, other), (other, one)):
        found = ReaderWriterCompatibilityChecker().get_compatibility(reader, writer)
        if found.compatibility is not SchemaCompatibilityType.compatible:
            why = "; ".join(sorted(map(str, found.messages)))
            where = ", ".join(sorted(map(str, found.locations)))
            raise SchemaMismatch(f"{why} at {where}")


class AvroCodec:
    """Reads messages of an Avro schema."""

    def __init__(self, definition: str) -> None:
        self._given = json.loads(definition)
        self.named: dict[str, Any] = {}
        self.schema = fastavro.parse_schema(_without(self._given, _is_ignored), self.named)
        read_defaults(self.schema, self.named)
        self._json = JsonReader(self.schema, self.named)
        self._walker = Walker(self.schema, self.named)
        self._is_walked = must_be_walked(self.schema, self.named)
        self._has_ints = _uses(self._given, "int")

    @cached_property
    def fields(self) -> RecordOf:
        """The fields of a message, with their types."""
        return _Types(self.named).record(self.schema, ())

    def check(self, data: bytes, encoding: Encoding) -> None:
        """Raise SchemaMismatch unless data is a message of the schema."""
        if encoding is Encoding.JSON:
            self._json.datum(data)
        else:
            # Avro: a number is a date beyond what Python has, or a text no UUID, and is valid data.
            read = self._read(data, self._plain)
            if not self._is_walked and not (self._is_of_bits(read) and self._writes(read, data)):
                self._walker.check(data)  # extra bytes, wrong indexes or numbers, blocks with sizes

    def _is_of_bits(self, datum: Any) -> bool:
        """Return whether a datum has no ``int`` of more than 32 bits: ``fastavro`` reads any."""
        return not self._has_ints or validate(datum, self._plain, raise_errors=False)

    def _writes(self, datum: Any, data: bytes) -> bool:
        """Return whether data is how ``fastavro`` writes a datum.

        It guesses the branch of a union.
        """
        try:
            return self._written(datum, self._plain) == data
        except Exception:
            return False

    def _written(self, datum: Any, schema: Any) -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, schema, datum)
        return out.getvalue()

    def values(self, data: bytes, encoding: Encoding, reader: AvroCodec) -> dict[str, Any]:
        """Return the fields of a message, by the schema of another revision; SchemaMismatch."""
        if encoding is Encoding.JSON:
            data = self._written(self._json.datum(data), self.schema)
        found = self._read(data, self.schema) if reader is self else self._resolved(data, reader)
        return {name: valued(found[name], type_) for name, type_ in reader.fields.fields}

    def _resolved(self, data: bytes, reader: AvroCodec) -> Any:
        """Return a message as the schema of another revision reads it.

        ``fastavro`` would convert by the logical types of the writer. Avro: they are the reader's.
        """
        return self._read(data, self._as_writer, reader._as_reader)

    @cached_property
    def _as_writer(self) -> Any:
        """The schema with the logical type of values that ``avro_resolution`` converts."""
        return fastavro.parse_schema(as_writer(_without(self._given, lambda _: True)), {})

    @cached_property
    def _as_reader(self) -> Any:
        """The schema with the branches of its unions, as ``avro_resolution`` reads them."""
        return _parsed(as_reader(_without(self._given, _is_ignored)))

    @cached_property
    def _plain(self) -> Any:
        """The schema without logical types."""
        return _parsed(_without(self._given, lambda _: True))

    def _read(self, data: bytes, schema: Any, reader: Any = None) -> Any:
        if self._is_walked:
            self._walker.check(data)
        try:
            return fastavro.schemaless_reader(BytesIO(data), schema, reader)
        except SchemaMismatch:
            raise
        except Exception as error:
            self._walker.check(data)  # it names the field
            raise SchemaMismatch(f"invalid Avro data: {first_line(error)}") from None


def _parsed(given: Any) -> Any:
    """Return a definition as ``fastavro`` reads by it, with its default values."""
    named: dict[str, Any] = {}
    schema = fastavro.parse_schema(given, named)
    read_defaults(schema, named)
    return schema


def _without(given: Any, is_dropped: Callable[[Any], bool]) -> Any:
    """Return a definition without the logical types of some schemas."""
    if isinstance(given, list):
        return [_without(each, is_dropped) for each in given]
    if not isinstance(given, dict):
        return given
    dropped = {"logicalType"} if is_dropped(given) else set()
    return {
        name: inner if name == "default" else _without(inner, is_dropped)
        for name, inner in given.items()
        if name not in dropped
    }


def _uses(given: Any, kind: str) -> bool:
    """Return whether a definition uses a type by its name."""
    if isinstance(given, list):
        return any(_uses(each, kind) for each in given)
    if not isinstance(given, dict):
        return bool(given == kind)
    parts = [given.get(name) for name in ("type", "items", "values", "fields")]
    return _uses(parts, kind)


def _is_ignored(schema: Any) -> bool:
    """Return whether a logical type counts for nothing. Avro: so does one that is not valid."""
    return schema.get("logicalType") == "decimal" and not schema.get("precision")


class _Types:
    """Maps Avro types to column types."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._count = FieldCount()

    def of(self, schema: Any, within: tuple[str, ...] = ()) -> FieldType:
        """Return the type of a column; text for a recursive type, and for most unions."""
        if isinstance(schema, list):
            return self._of_union(schema, within)
        if isinstance(schema, str):
            return self.of(self._named[schema], within) if schema in self._named else _PLAIN[schema]
        kind = schema["type"]
        if kind == "array":
            item = self.of(schema["items"], within)
            return ListOf(item)
        if kind == "map":
            return MapOf(self.of(schema["values"], within))
        if kind in ("record", "error"):
            if schema["name"] in within or not schema["fields"]:
                return TEXT
            return self.record(schema, within)
        return self._of_logical(schema, kind)

    def record(self, schema: Any, within: tuple[str, ...]) -> RecordOf:
        """Return the types of the fields of a record."""
        inner = (*within, schema["name"])
        fields = []
        for each in schema["fields"]:
            self._count.add()
            fields.append((each["name"], self.of(each["type"], inner)))
        return RecordOf(tuple(fields))

    def _of_logical(self, schema: Any, kind: str) -> FieldType:
        logical = schema.get("logicalType")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            precision, scale = schema["precision"], schema.get("scale", 0)
            return DecimalOf(precision, scale) if precision <= MOST_DIGITS else TEXT
        return _LOGICAL.get(f"{kind}-{logical}", _PLAIN[kind])

    def _of_union(self, branches: list[Any], within: tuple[str, ...]) -> FieldType:
        found = [self.of(each, within) for each in branches if each != "null"]
        if len(found) == 1:
            return found[0]
        for wide, narrow in (("long", {"int", "long"}), ("double", {"float", "double"})):
            if found and all(isinstance(each, str) and each in narrow for each in found):
                return wide
        return TEXT


def valued(value: Any, type_: FieldType) -> Any:
    """Convert a value to the type of its column; SchemaMismatch if it is larger."""
    if value is None:
        return None
    if type_ == "int" and not fits(value, "int"):  # earlier versions have accepted such data
        raise SchemaMismatch(f"invalid Avro data: {value} has more than {BITS['int']} bits")
    if isinstance(type_, RecordOf):
        return {name: valued(value[name], inner) for name, inner in type_.fields}
    if isinstance(type_, ListOf):
        return [valued(each, type_.item) for each in value]
    if isinstance(type_, MapOf):
        return [(key, valued(each, type_.value)) for key, each in value.items()]
    if type_ != TEXT or isinstance(value, str):
        return value
    if isinstance(value, (datetime, time)):
        return value.isoformat()
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    return json.dumps(value, default=_as_json, ensure_ascii=False)


def _as_json(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _rules_of(definition: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Avro: an invalid logical type is ignored
        return rules.parse(definition)


def _check_names(given: Any) -> None:
    for text in _names(given):
        if not isinstance(text, str) or not all(map(_NAME.fullmatch, text.split("."))):
            raise InvalidArgument(
                f"{text!r} is not a name; letters, digits and '_' are accepted, with no digit first"
            )


def _names(given: Any) -> Iterator[Any]:
    if isinstance(given, list):
        for each in given:
            yield from _names(each)
    elif isinstance(given, dict):
        if given.get("type") in ("record", "error", "enum", "fixed"):
            yield given.get("name")
            yield from given.get("symbols", ())
        for field in given.get("fields", ()):
            yield field.get("name")
            yield from _names(field.get("type"))
        for inner in ("type", "items", "values"):
            yield from _names(given.get(inner))
