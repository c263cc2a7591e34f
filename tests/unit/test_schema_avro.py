"""Avro: which definitions, messages and revisions are accepted, and what fields become."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from math import inf
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("avro")

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.schemas.avro import AvroCodec, check_compatible, check_definition
from pubsub_delta.policy.schemas.types import DecimalOf, ListOf, MapOf, RecordOf, SchemaMismatch
from pubsub_delta.schemas import Encoding
from tests.unit.schema_cases import (
    AREA,
    AVRO,
    CODE,
    ENUM,
    FIXED,
    INNER,
    NAME,
    OHIO,
    UTAH,
    avro_bytes,
    logical,
    record,
)

JSON, BINARY = Encoding.JSON, Encoding.BINARY


def one(type_: Any) -> str:
    """Return a record whose only field has a type."""
    return record({"name": "x", "type": type_})


def of(type_: Any, value: Any) -> tuple[str, bytes]:
    return one(type_), json.dumps({"x": value}).encode()


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("null", None),
        ("boolean", True),
        ("int", 2**31 - 1),
        ("int", -(2**31)),
        ("long", -(2**63)),
        ("float", 1),
        ("double", 1.5),
        ("string", "é"),
        ("bytes", "\u00ff\u0000"),
        (FIXED, "ab"),
        (ENUM, "B"),
        (INNER, {"n": 1}),
        ({"type": "array", "items": "int"}, [1, 2]),
        ({"type": "map", "values": "int"}, {"k": 1}),
        (["null", "string"], None),
        (["null", "string"], {"string": "a"}),
        (["int", INNER], {"I": {"n": 1}}),
        ({"type": "int", "logicalType": "date"}, 3),
    ],
)
def test_values_in_avros_json_fit(type_: Any, value: Any) -> None:
    """Avro's specification, "JSON Encoding": each type, and a union by the name of its branch."""
    definition, data = of(type_, value)
    check_definition(definition)
    codec = AvroCodec(definition)
    codec.check(data, JSON)
    binary = avro_bytes(definition, codec._json.datum(data))
    codec.check(binary, BINARY)
    assert codec.values(data, JSON, codec) == codec.values(binary, BINARY, codec)


@pytest.mark.parametrize(
    ("type_", "value", "told"),
    [
        ("null", 0, "type null"),
        ("boolean", 1, "type boolean"),
        ("int", True, "type int"),
        ("int", 2**31, "type int"),
        ("long", 2**63, "type long"),
        ("long", 1.0, "type long"),
        ("double", "1", "type double"),
        ("string", 1, "type string"),
        ("string", "\ud800", "type string"),
        ("bytes", "€", "up to U.00FF"),
        (FIXED, "abc", "2 characters"),
        (ENUM, "C", "one of A, B"),
        (INNER, {"n": 1, "m": 2}, "'x.m' is not in the schema"),
        (INNER, {}, "'x.n' is missing"),
        (INNER, [], "an object"),
        ({"type": "array", "items": "int"}, [1, "2"], r"'x\[1\]'"),
        ({"type": "map", "values": "int"}, {"k": "1"}, "'x.k'"),
        ({"type": "map", "values": "int"}, {"\ud800": 1}, r"'x' is .*type string"),
        (["null", "string"], "a", "null or"),
        (["null"], "a", "null is accepted"),
        (["null", "string"], {"long": 1}, "one of null, string"),
        (["int", "string"], None, "one of int, string"),
    ],
)
def test_other_values_do_not_fit_and_the_field_is_named(type_: Any, value: Any, told: str) -> None:
    definition, data = of(type_, value)
    with pytest.raises(SchemaMismatch, match=told):
        AvroCodec(definition).check(data, JSON)


@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize("digits", ["1e400", f"1{'0' * 400}"])
def test_a_number_beyond_all_others_is_infinite_however_it_is_written(
    type_: str, digits: str
) -> None:
    codec = AvroCodec(one(type_))
    for sign, expected in (("", inf), ("-", -inf)):
        data = f'{{"x": {sign}{digits}}}'.encode()
        codec.check(data, JSON)
        assert codec.values(data, JSON, codec) == {"x": expected}


def test_the_reason_is_text_whatever_the_data_is() -> None:
    """It is written by Arrow and by gRPC, which take UTF-8 only."""
    for type_, value in (("bytes", "\ud800"), (ENUM, "\ud800")):
        definition, data = of(type_, value)
        with pytest.raises(SchemaMismatch) as refused:
            AvroCodec(definition).check(data, JSON)
        assert r"\ud800" in str(refused.value).encode().decode()


@pytest.mark.parametrize("more", [{}, {"precision": 0}, {"precision": None}, {"scale": 1}])
def test_a_decimal_without_a_precision_is_bytes(more: dict[str, Any]) -> None:
    """Avro: "If a logical type is invalid, … then implementations should ignore" it."""
    definition, data = of(logical("bytes", "decimal", **more), "\u00ff")
    check_definition(definition)
    codec = AvroCodec(definition)
    for encoding, each in ((JSON, data), (BINARY, b"\x02\xff")):
        codec.check(each, encoding)
        assert codec.values(each, encoding, codec) == {"x": b"\xff"}


def test_a_record_may_have_no_fields() -> None:
    check_definition(record())
    codec = AvroCodec(record())
    for encoding, data in ((JSON, b"{}"), (BINARY, b"")):
        codec.check(data, encoding)
        assert codec.values(data, encoding, codec) == {}


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"x": 1, "x": 1}', b'{"x": NaN}'])
def test_what_is_no_json_of_a_record_does_not_fit(data: bytes) -> None:
    with pytest.raises(SchemaMismatch):
        AvroCodec(one("double")).check(data, JSON)


def test_a_default_does_not_stand_in_for_a_field() -> None:
    """Avro's specification: a default is for readers of data that was written without the field."""
    codec = AvroCodec(record(NAME, AREA))
    with pytest.raises(SchemaMismatch, match="'area' is missing"):
        codec.check(UTAH, JSON)


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x02\x06ab", b"\x02\xff", b"\xff" * 20])
def test_bytes_that_are_no_avro_do_not_fit(data: bytes) -> None:
    with pytest.raises(SchemaMismatch):
        AvroCodec(AVRO).check(data, BINARY)


@pytest.mark.parametrize("other", ["string", ENUM])
def test_a_branch_beside_a_date_is_read_in_binary(other: Any) -> None:
    codec = AvroCodec(one([logical("int", "date"), other]))
    data = b"\x02" + avro_bytes(one(other), {"x": "A"})
    codec.check(data, BINARY)
    assert codec.values(data, BINARY, codec) == {"x": "A"}
    with pytest.raises(SchemaMismatch):
        codec.check(data + b"\x00", BINARY)


def test_bytes_that_are_left_over_do_not_fit() -> None:
    whole = avro_bytes(AVRO, {"name": "Utah"})
    AvroCodec(AVRO).check(whole, BINARY)
    with pytest.raises(SchemaMismatch, match="1 bytes are left over"):
        AvroCodec(AVRO).check(whole + b"\x00", BINARY)


WITHIN_ITSELF = record({"name": "next", "type": ["null", "State"]})


def nested(levels: int) -> tuple[bytes, bytes]:
    """Return a record within so many others, in binary and in JSON."""
    within = levels - 1
    inner = '{"next": {"State": ' * within + '{"next": null}' + "}}" * within
    return b"\x02" * (levels - 1) + b"\x00", inner.encode()


def test_a_type_within_itself_has_at_most_100_levels() -> None:
    """What reads it in C would run out of its stack, and the process would end."""
    codec = AvroCodec(WITHIN_ITSELF)
    for data, encoding in zip(nested(100), (BINARY, JSON), strict=True):
        codec.check(data, encoding)
        assert codec.values(data, encoding, codec)["next"]
    for levels in (101, 100_000):
        with pytest.raises(SchemaMismatch, match="nested too deeply"):
            codec.check(nested(levels)[0], BINARY)
    for levels in (400, 20_000):
        with pytest.raises(SchemaMismatch, match="nested too deeply"):
            codec.check(nested(levels)[1], JSON)
        with pytest.raises(SchemaMismatch, match="nested too deeply"):
            codec.check(b"[" * levels + b"]" * levels, JSON)


def test_what_is_not_nested_may_have_any_number_of_objects() -> None:
    many = json.dumps({"x": [{"n": n} for n in range(1000)]}).encode()
    AvroCodec(one({"type": "array", "items": INNER})).check(many, JSON)


def test_items_without_bytes_are_not_counted_for_ever() -> None:
    codec = AvroCodec(one({"type": "array", "items": "null"}))
    codec.check(b"\x04\x00", BINARY)
    with pytest.raises(
        SchemaMismatch, match="claims 4,611,686,018,427,387,903 items without bytes"
    ):
        codec.check(b"\xfe" + b"\xff" * 7 + b"\x7f\x00", BINARY)


@pytest.mark.parametrize(
    ("type_", "data"),
    [(ENUM, b"\x01"), (["null", "string"], b"\x01\x00"), (["int", ENUM], b"\x02\x01")],
)
def test_a_number_below_zero_names_nothing(type_: Any, data: bytes) -> None:
    """``fastavro`` would count from the end."""
    with pytest.raises(SchemaMismatch, match="-1 is not one of 0 to 1"):
        AvroCodec(one(type_)).check(data, BINARY)


def test_blocks_may_tell_their_size() -> None:
    """Avro's specification: a negative count is followed by the bytes of the block."""
    codec = AvroCodec(one({"type": "array", "items": "int"}))
    codec.check(b"\x03\x04\x02\x04\x00", BINARY)  # -2 items in 2 bytes: 1, 2
    assert codec.values(b"\x03\x04\x02\x04\x00", BINARY, codec) == {"x": [1, 2]}


@pytest.mark.parametrize(
    "type_",
    ["int", "string", "bytes", FIXED, "boolean", "double", {"type": "map", "values": "int"}],
)
def test_walked_data_is_held_to_its_length(type_: Any) -> None:
    """Of a type within itself, which is walked over before it is read."""
    fields = {"name": "x", "type": type_}, {"name": "next", "type": ["null", "State"]}
    codec = AvroCodec(record(*fields))
    values = {"string": "ab", "bytes": b"ab", "boolean": True, "double": 0.5, "int": 70}
    value: Any = values[type_] if isinstance(type_, str) else b"ab" if type_ is FIXED else {"k": 1}
    whole = avro_bytes(record(*fields), {"x": value, "next": {"x": value, "next": None}})
    codec.check(whole, BINARY)
    for end in range(len(whole)):
        with pytest.raises(SchemaMismatch):
            codec.check(whole[:end], BINARY)
    with pytest.raises(SchemaMismatch, match="1 bytes are left over"):
        codec.check(whole + b"\x00", BINARY)


@pytest.mark.parametrize("type_", ["bytes", {"type": "fixed", "name": "D", "size": 2}])
def test_a_decimal_of_more_digits_than_its_type_is_refused(type_: Any) -> None:
    """``fastavro`` would round it."""
    given = type_ if isinstance(type_, dict) else {"type": type_}
    codec = AvroCodec(one({**given, "logicalType": "decimal", "precision": 2, "scale": 1}))
    length = b"\x04" if type_ == "bytes" else b""
    codec.check(b'{"x": "\\u0000c"}', JSON)
    codec.check(length + b"\x00c", BINARY)
    with pytest.raises(SchemaMismatch, match="field 'x': a decimal has more than 2 digits"):
        codec.check(b'{"x": "\\u0000d"}', JSON)
    with pytest.raises(SchemaMismatch, match="a decimal has more than 2 digits"):
        codec.check(length + b"\x00d", BINARY)


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ("{", "invalid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('"string"', "its type is not 'record'"),
        ('["null", "int"]', "its type is not 'record'"),
        (json.dumps(ENUM), "its type is not 'record'"),
        ("null", "not an Avro schema"),
        ('{"type": "record", "name": "R"}', "non-empty fields"),
        ('{"type": "record", "name": "1", "fields": []}', "not a name"),
        ('{"type": "record", "name": "R", "fields": [1]}', "not an Avro schema"),
        (one("nope"), "nope"),
        (one(["int", "int"]), "already in Union"),
        (one({"type": "enum", "name": "E", "symbols": ["A", "A"]}), "Duplicate"),
        (one({"type": "enum", "name": "E", "symbols": ["a b"]}), "not a name"),
        (record(NAME, NAME), "already in use"),
        (record({"name": "x", "type": "int", "default": "a"}), "Default value"),
    ],
)
def test_what_is_no_definition_is_refused(definition: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        check_definition(definition)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (record(NAME, AREA), record(NAME)),
        (record(NAME), record(NAME, CODE)),
        (record({"name": "renamed", "type": "int", "default": 1}, NAME), record(NAME)),
    ],
)
def test_revisions_that_read_each_other_go_together(new: str, old: str) -> None:
    """Pub/Sub: a new revision follows Avro's rules "as if it were both the reader and writer"."""
    check_compatible(new, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (record(NAME, {"name": "x", "type": "int"}), record(NAME)),
        (record(NAME), record(NAME, {"name": "x", "type": "int"})),
        (one("long"), one("int")),
        (one("int"), one("long")),
        (record(NAME, name="Other"), record(NAME)),
    ],
)
def test_revisions_of_which_one_cannot_read_the_other_do_not(new: str, old: str) -> None:
    with pytest.raises(SchemaMismatch):
        check_compatible(new, old)


def test_a_message_is_read_by_its_own_revision_as_another_one_has_it() -> None:
    old, new = AvroCodec(record(NAME, CODE)), AvroCodec(record(NAME, AREA))
    told = b'{"name": "Utah", "code": {"string": "UT"}}'
    assert old.values(told, JSON, new) == {"name": "Utah", "area": 0}
    assert new.values(OHIO, JSON, old) == {"name": "Ohio", "code": None}


@pytest.mark.parametrize(
    ("type_", "value", "kind", "found"),
    [
        (["null", "int"], {"int": 1}, "int", 1),
        (["int", "long"], {"long": 1}, "long", 1),
        (["int", "string"], {"int": 1}, "string", "1"),
        (["int", INNER], {"I": {"n": 1}}, "string", '{"n": 1}'),
        (logical("int", "date"), 3, "date", date(1970, 1, 4)),
        (
            logical("long", "timestamp-millis"),
            1000,
            "timestamp",
            datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc),
        ),
        (logical("long", "local-timestamp-millis"), 1000, "string", "1970-01-01T00:00:01"),
        (logical("int", "time-millis"), 1000, "string", "00:00:01"),
        (
            logical("bytes", "decimal", precision=5, scale=2),
            "\u0001",
            DecimalOf(5, 2),
            Decimal("0.01"),
        ),
        (
            logical("bytes", "decimal", precision=38, scale=2),
            "\u0001",
            DecimalOf(38, 2),
            Decimal("0.01"),
        ),
        (logical("bytes", "decimal", precision=39, scale=2), "\u0001", "string", "0.01"),
        (logical("bytes", "decimal", precision=60, scale=2), "\u0001", "string", "0.01"),
        (
            logical("string", "uuid"),
            "12345678-1234-5678-1234-567812345678",
            "string",
            "12345678-1234-5678-1234-567812345678",
        ),
        (INNER, {"n": 1}, RecordOf((("n", "int"),)), {"n": 1}),
        ({"type": "array", "items": "int"}, [1], ListOf("int"), [1]),
        ({"type": "map", "values": "int"}, {"k": 1}, MapOf("int"), [("k", 1)]),
        (FIXED, "ab", "binary", b"ab"),
        (ENUM, "B", "string", "B"),
        (["null", "State"], None, "string", None),
    ],
)
def test_fields_become_columns_of_their_types(
    type_: Any, value: Any, kind: Any, found: Any
) -> None:
    definition, data = of(type_, value)
    check_definition(definition)
    codec = AvroCodec(definition)
    assert codec.fields == RecordOf((("x", kind),))
    assert codec.values(data, JSON, codec) == {"x": found}


def test_a_type_within_itself_is_json() -> None:
    codec = AvroCodec(record(NAME, {"name": "next", "type": ["null", "State"]}))
    told = b'{"name": "a", "next": {"State": {"name": "b", "next": null}}}'
    read = codec.values(told, JSON, codec)
    assert json.loads(read["next"]) == {"name": "b", "next": None}
