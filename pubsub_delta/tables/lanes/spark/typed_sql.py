"""Reads the fields of messages in SQL alone, for views in a catalog, which run no Python.

It reads Avro in JSON whose types, nullable ones included, have a type in SQL; others are
Unreadable. Each message is read by the revision under which it was published, as in
``TypedReader``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from pubsub_delta.policy.schemas.avro import AvroCodec
from pubsub_delta.policy.schemas.avro_binary import resolved
from pubsub_delta.policy.schemas.avro_defaults import IN_JSON
from pubsub_delta.policy.schemas.avro_json import name_of
from pubsub_delta.policy.schemas.validation import (
    ENCODING_ATTRIBUTE,
    NAME_ATTRIBUTE,
    REVISION_ATTRIBUTE,
    TypedReader,
    codec_of,
)
from pubsub_delta.schemas import Encoding, SchemaType
from pubsub_delta.tables.lanes.spark.sql import literal
from pubsub_delta.tables.typed import SCHEMA_ERROR, column_names

_SQL = {"boolean": "BOOLEAN", "int": "INT", "long": "BIGINT", "float": "DOUBLE",
        "double": "DOUBLE", "string": "STRING", "enum": "STRING", "bytes": "STRING",
        "fixed": "STRING"}  # fmt: skip
"""The type as which a value of JSON is first read."""
_CASTS = {"boolean": "BOOLEAN", "int": "INT", "long": "BIGINT", "float": "FLOAT",
          "double": "DOUBLE", "string": "STRING", "enum": "STRING", "bytes": "BINARY",
          "fixed": "BINARY"}  # fmt: skip
_TIMES = {
    ("int", "date"): ("date_from_unix_date", -719_162, 2_932_896),
    ("long", "timestamp-millis"): ("timestamp_millis", -62_135_596_800_000, 253_402_300_799_999),
    ("long", "timestamp-micros"): (
        *("timestamp_micros", -62_135_596_800_000_000, 253_402_300_799_999_999),
    ),
}
"""The function that reads a date or a time, and its range: the years 1 to 9999, as in Python."""
_OTHER_LOGICAL = {
    "decimal", "time-millis", "time-micros", "local-timestamp-millis", "local-timestamp-micros",
}  # fmt: skip


_NOT_READ = "not-read"
"""The field in which ``from_json`` returns a text that it cannot read; no field of Avro's."""


class Unreadable(Exception):
    """SQL alone cannot read these fields; the text says why."""


@dataclass(frozen=True)
class _Reading:
    """How to read a value of JSON: a type for ``from_json``, and expressions on its result.

    ``of``: the value. ``error``: why there is none, null if there is one; None if there always is.
    """

    type: str
    of: Callable[[str], str]
    error: Callable[[str], str | None] = lambda _: None


def typed_query(messages: str, typing: TypedReader, encoding: Encoding) -> str:
    """Return a query of messages with their fields, in the columns of ``typed_schema``.

    Args:
        messages: a query of the columns ``message_id`` and those of a message.
        typing: the fields.
        encoding: of the topic.
    """
    if typing.type is not SchemaType.AVRO:
        raise Unreadable("its schema is one of Protocol Buffers")
    if encoding is not Encoding.JSON:
        raise Unreadable("its messages are in Avro's binary encoding")
    newest = codec_of(typing.type, typing.newest)
    assert isinstance(newest, AvroCodec)
    texts, by_revision, errors = [], [], []
    for place, revision in enumerate(typing.revisions):
        own = codec_of(typing.type, revision)
        assert isinstance(own, AvroCodec)
        root = _Resolution(own, newest).reading()
        id_ = literal(revision.revision_id)
        type_ = f"{root.type.removesuffix('>')}, {_quoted(_NOT_READ)}: STRING>"
        how = f"map('columnNameOfCorruptRecord', '{_NOT_READ}')"
        parsed = f"from_json(CAST(data AS STRING), {literal(type_)}, {how})"
        texts.append(f"CASE WHEN _unread IS NULL AND _revision = {id_} THEN {parsed} END")
        by_revision.append(f"WHEN {id_} THEN {root.of(f'_{place}')}")
        not_read = f"WHEN _{place}.{_quoted(_NOT_READ)} IS NOT NULL THEN 'SQL reads no such JSON'"
        error = f"CASE {not_read} ELSE {root.error(f'_{place}') or 'NULL'} END"
        errors.append(f"WHEN {id_} THEN {error}")
    read = ", ".join(f"{text} AS _{place}" for place, text in enumerate(texts))
    names = [name for name, _ in newest.fields.fields]
    fields = ", ".join(
        f"_fields.{_quoted(name)} AS {_quoted(column)}"
        for name, column in zip(names, column_names(names), strict=True)
    )
    own_columns = "message_id, publish_time, data, attributes, ordering_key"
    found = f"SELECT *, {_error(typing)} AS _unread FROM ({_with_attributes(messages)})"
    rows = f"SELECT *, {read} FROM ({found})"
    error = f"coalesce(_unread, CASE _revision {' '.join(errors)} END)"
    told = f"SELECT *, {error} AS {SCHEMA_ERROR} FROM ({rows})"
    value = f"CASE _revision {' '.join(by_revision)} END"
    resolved_ = f"SELECT *, CASE WHEN {SCHEMA_ERROR} IS NULL THEN {value} END AS _fields"
    return f"SELECT {own_columns}, {fields}, {SCHEMA_ERROR} FROM ({resolved_} FROM ({told}))"


def _with_attributes(messages: str) -> str:
    named = {"_schema": NAME_ATTRIBUTE, "_revision": REVISION_ATTRIBUTE,
             "_encoding": ENCODING_ATTRIBUTE}  # fmt: skip
    added = ", ".join(
        f"try_element_at(attributes, {literal(key)}) AS {name}" for name, key in named.items()
    )
    return f"SELECT *, {added} FROM ({messages})"


def _error(typing: TypedReader) -> str:
    """Write why a message has no fields, in the words of ``TypedReader.values``."""
    name = literal(typing.schema)
    there = ", ".join(literal(each.revision_id) for each in typing.revisions)
    return (
        "CASE WHEN _schema IS NULL THEN 'it was published when the topic had no schema' "
        f"WHEN _schema <> {name} THEN concat('it was published under ', _schema) "
        f"WHEN coalesce(_revision NOT IN ({there}), true) THEN concat('revision ', "
        f"coalesce(_revision, 'None'), {literal(f' of {typing.schema} is not there any more')}) "
        "WHEN coalesce(_encoding, '') <> 'JSON' THEN 'it is not in JSON, and SQL reads no other' "
        "END"
    )


class _Resolution:
    """Avro's schema resolution between writer and reader, in SQL."""

    def __init__(self, writer: AvroCodec, reader: AvroCodec) -> None:
        self._writer, self._reader = writer, reader
        self._variables = count()

    def reading(self) -> _Reading:
        """Return how to read a message."""
        return self._value(self._writer.schema, self._reader.schema, "", ())

    def _value(self, writer: Any, reader: Any, path: str, within: tuple[str, ...]) -> _Reading:
        one = _only_branch(resolved(reader, self._reader.named), path)
        reader = resolved(one, self._reader.named)
        written = resolved(writer, self._writer.named)
        if isinstance(written, list):
            branch = _only_branch(written, path)
            inner, name = self._value(branch, reader, path, within), _quoted(name_of(branch))
            return _Reading(
                f"STRUCT<{name}: {inner.type}>",
                lambda v: inner.of(f"{v}.{name}"),
                lambda v: inner.error(f"{v}.{name}"),
            )
        kind = written["type"] if isinstance(written, dict) else written
        into = reader["type"] if isinstance(reader, dict) else reader
        if kind == into == "record":
            return self._record(written, reader, path, within)
        if kind == into == "array":
            inner = self._value(written["items"], reader["items"], f"{path}[]", within)
            variable = f"x{next(self._variables)}"
            return _Reading(
                f"ARRAY<{inner.type}>",
                lambda v: f"transform({v}, {variable} -> {inner.of(variable)})",
                lambda v: _first_error(v, variable, inner),
            )
        if kind == into == "map":
            inner = self._value(written["values"], reader["values"], f"{path}{{}}", within)
            key, variable = (f"{name}{next(self._variables)}" for name in "kx")
            return _Reading(
                f"MAP<STRING, {inner.type}>",
                lambda v: f"transform_values({v}, ({key}, {variable}) -> {inner.of(variable)})",
                lambda v: _first_error(f"map_values({v})", variable, inner),
            )
        return _plain(written, reader, path)

    def _record(self, writer: Any, reader: Any, path: str, within: tuple[str, ...]) -> _Reading:
        if reader["name"] in within:
            raise Unreadable(f"field {path!r} is a type within itself")
        names = [each["name"] for each in (*writer["fields"], *reader["fields"])]
        if not reader["fields"] or len({*map(str.lower, names)}) < len({*names}):
            what = "differ by case alone" if reader["fields"] else "are none"
            raise Unreadable(f"the fields of record {reader['name']} {what}")
        of_writer = {each["name"]: each for each in writer["fields"]}
        types, values, inners = [], [], list[tuple[str, _Reading]]()
        for field in reader["fields"]:
            name, place = field["name"], f"{path}.{field['name']}".lstrip(".")
            own = next((n for n in (name, *field.get("aliases", ())) if n in of_writer), None)
            if own is None:
                values.append((name, self._default(field, place, (*within, reader["name"]))))
                continue
            inner = self._value(
                of_writer[own]["type"], field["type"], place, (*within, reader["name"])
            )
            types.append(f"{_quoted(own)}: {inner.type}")
            inners.append((_quoted(own), inner))
            values.append((name, lambda v, own=own, inner=inner: inner.of(f"{v}.{_quoted(own)}")))  # type: ignore[misc]
        if not types:  # from_json reads at least one field
            types.append("`_`: STRING")

        def of(value: str) -> str:
            made = ", ".join(f"{literal(name)}, {write(value)}" for name, write in values)
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({made}) END"

        def error(value: str) -> str | None:
            found = [inner.error(f"{value}.{name}") for name, inner in inners]
            told = [each for each in found if each is not None]
            return f"coalesce({', '.join(told)})" if told else None

        return _Reading(f"STRUCT<{', '.join(types)}>", of, error)

    def _default(self, field: Any, path: str, within: tuple[str, ...]) -> Callable[[str], str]:
        """Return the default of a field that the writer's record does not have."""
        default, type_ = field.get(IN_JSON), resolved(field["type"], self._reader.named)
        same = _Resolution(self._reader, self._reader)
        one = _only_branch(type_, path)
        if isinstance(default, (dict, list)) and default:
            raise Unreadable(f"the default of field {path!r} is {json.dumps(default)}")
        inner = same._value(one, one, path, within)
        given = literal(json.dumps({"v": default}))
        parsed = f"from_json({given}, {literal(f'STRUCT<v: {inner.type}>')}).v"
        return lambda _: inner.of(parsed)


def _plain(writer: Any, reader: Any, path: str) -> _Reading:
    """Return how to read a value of a plain type: as the reader's, which can be wider."""
    kind = writer["type"] if isinstance(writer, dict) else writer
    into = reader["type"] if isinstance(reader, dict) else reader
    logical = tuple(each.get("logicalType") if isinstance(each, dict) else None
                    for each in (writer, reader))  # fmt: skip
    if kind not in _SQL or into not in _SQL or {*logical} & _OTHER_LOGICAL:
        raise Unreadable(f"field {path!r} is of type {logical[1] or into}")
    of_time = [_TIMES.get((each, of or "")) for each, of in zip((kind, into), logical, strict=True)]
    if of_time[0] != of_time[1]:
        raise Unreadable(f"field {path!r} has become of type {logical[1] or into}")
    if kind == "enum" and not {*writer["symbols"]} <= {*reader.get("symbols", ())}:
        raise Unreadable(f"field {path!r} is an enum that has lost symbols")
    if of_time[1] is not None:
        function, least, most = of_time[1]
        return _checked(
            _Reading(_SQL[kind], lambda v: f"{function}({v})"),
            lambda v: f"{v} BETWEEN {least} AND {most}",
            f"field {path!r} is not within the years 1 to 9999",
        )
    cast = _CASTS[into]
    if kind in ("bytes", "fixed"):
        raw = _Reading("STRING", lambda v: f"CAST(encode({v}, 'ISO-8859-1') AS {cast})")
        if cast == "BINARY":
            return raw
        why = f"field {path!r} is of bytes that are no text in UTF-8"
        return _checked(raw, lambda v: f"is_valid_utf8({raw.of(v)})", why)
    if (into, logical[1]) == ("string", "uuid"):
        return _checked(
            _Reading("STRING", lambda v: f"regexp_replace({_digits(v)}, {_UUID_PARTS})"),
            lambda v: f"{_digits(v)} RLIKE '^[0-9a-f]{{32}}$'",
            f"field {path!r} is no UUID",
        )
    return _Reading(_SQL[kind], lambda v: v if _SQL[kind] == cast else f"CAST({v} AS {cast})")


_UUID_PARTS = "'^(.{8})(.{4})(.{4})(.{4})', '$1-$2-$3-$4-'"


def _digits(uuid: str) -> str:
    """Return the digits of a UUID, of all ways to write one that Python reads."""
    named = f"replace(replace({uuid}, 'urn:', ''), 'uuid:', '')"
    return f"lower(replace(trim(BOTH '{{}}' FROM {named}), '-', ''))"


def _checked(reading: _Reading, fits: Callable[[str], str], why: str) -> _Reading:
    """Return a reading of values that fit a condition, and tell why there is no other."""
    return _Reading(
        reading.type,
        lambda v: f"CASE WHEN {fits(v)} THEN {reading.of(v)} END",
        lambda v: f"CASE WHEN NOT {fits(v)} THEN {literal(why)} END",
    )


def _first_error(values: str, variable: str, inner: _Reading) -> str | None:
    """Return the first error of the values of an array."""
    error = inner.error(variable)
    if error is None:
        return None
    return f"get(array_compact(transform({values}, {variable} -> {error})), 0)"


def _quoted(name: str) -> str:
    return f"`{name}`"  # Avro's names have no backtick


def _only_branch(schema: Any, path: str) -> Any:
    """Return the other type of a union with null, or a type that is not a union."""
    if not isinstance(schema, list):
        return schema
    found = [each for each in schema if each != "null"]
    if len(found) != 1:
        raise Unreadable(f"field {path!r} is a union of several types")
    return found[0]
