"""Avro: the whole reason why a message or a default does not fit, and what every default is."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("fastavro")

from pubsub_delta.policy.schemas.avro import AvroCodec
from pubsub_delta.policy.schemas.avro_defaults import value_of
from pubsub_delta.policy.schemas.types import SchemaMismatch
from pubsub_delta.schemas import Encoding
from tests.unit.schema_cases import logical, record

INNER = {"type": "record", "name": "Inner", "fields": [{"name": "n", "type": "int"}]}
FIXED = {"type": "fixed", "name": "Two", "size": 2}
ENUM = {"type": "enum", "name": "Letter", "symbols": ["A", "B"]}
BYTES = "text of characters up to U+00FF, one a byte"


@pytest.mark.parametrize(
    ("type_", "value", "told"),
    [
        ("null", 0, "field 'x' is 0; a value of type null is accepted"),
        ("boolean", 1, "field 'x' is 1; a value of type boolean is accepted"),
        ("int", True, "field 'x' is true; a value of type int is accepted"),
        ("int", 1.0, "field 'x' is 1.0; a value of type int is accepted"),
        ("int", 2**31, "field 'x' is 2147483648; a value of type int is accepted"),
        ("int", -(2**31) - 1, "field 'x' is -2147483649; a value of type int is accepted"),
        ("long", 2**63, "field 'x' is 9223372036854775808; a value of type long is accepted"),
        ("double", "1", "field 'x' is \"1\"; a value of type double is accepted"),
        ("string", 5, "field 'x' is 5; a value of type string is accepted"),
        ("bytes", 5, f"field 'x' is 5; {BYTES} is accepted"),
        ("bytes", None, f"field 'x' is null; {BYTES} is accepted"),
        ("bytes", [1], f"field 'x' is [1]; {BYTES} is accepted"),
        ("bytes", "Ā", f"field 'x' is \"Ā\"; {BYTES} is accepted"),
        (FIXED, "abc", "field 'x' is \"abc\"; 2 characters, one a byte is accepted"),
        (FIXED, 5, f"field 'x' is 5; {BYTES} is accepted"),
        (ENUM, "C", "field 'x' is \"C\"; one of A, B is accepted"),
        (INNER, 5, "field 'x' is 5; an object, the record Inner is accepted"),
        (INNER, {"n": "a"}, "field 'x.n' is \"a\"; a value of type int is accepted"),
        ({"type": "array", "items": "int"}, {}, "field 'x' is {}; an array is accepted"),
        (
            {"type": "array", "items": INNER},
            [{"n": 1}, {"n": "a"}],
            "field 'x[1].n' is \"a\"; a value of type int is accepted",
        ),
        ({"type": "map", "values": "int"}, [], "field 'x' is []; an object, a map is accepted"),
        (
            {"type": "map", "values": INNER},
            {"key": {"n": None}},
            "field 'x.key.n' is null; a value of type int is accepted",
        ),
        (
            ["null", "string"],
            "a",
            'field \'x\' is "a"; null or {"string": …} is accepted',
        ),
        (["int", INNER], None, "field 'x' is null; one of int, Inner in an object is accepted"),
        (
            ["null", INNER],
            {"Inner": {"n": "a"}},
            "field 'x.Inner.n' is \"a\"; a value of type int is accepted",
        ),
        (
            ["null", "int"],
            {"string": "a"},
            'field \'x\' is {"string": "a"}; one of null, int as the name is accepted',
        ),
        (
            ["null", "int"],
            {"null": None},
            "field 'x' is {\"null\": null}; one of null, int as the name is accepted",
        ),
        ("int", "a" * 80, f"field 'x' is \"{'a' * 58}…; a value of type int is accepted"),
    ],
)
def test_a_value_that_does_not_fit_is_told_whole_with_its_path(
    type_: Any, value: Any, told: str
) -> None:
    """Schemas: "The error names the message and the field"."""
    codec = AvroCodec(record({"name": "x", "type": type_}))
    with pytest.raises(SchemaMismatch) as error:
        codec.check(json.dumps({"x": value}).encode(), Encoding.JSON)
    assert str(error.value) == told


UTC = timezone.utc
NAMED = {"Inner": INNER}


@pytest.mark.parametrize(
    ("type_", "default", "expected"),
    [
        (logical("int", "date"), 366, date(1971, 1, 2)),
        (logical("int", "date"), -1, date(1969, 12, 31)),
        (logical("int", "time-millis"), 3_661_001, time(1, 1, 1, 1_000)),
        (logical("long", "time-micros"), 3_661_000_001, time(1, 1, 1, 1)),
        (logical("long", "timestamp-millis"), 1, datetime(1970, 1, 1, 0, 0, 0, 1_000, UTC)),
        (logical("long", "timestamp-micros"), 1, datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (logical("long", "local-timestamp-millis"), 1, datetime(1970, 1, 1, 0, 0, 0, 1_000)),
        (logical("long", "local-timestamp-micros"), 1, datetime(1970, 1, 1, 0, 0, 0, 1)),
        (logical("bytes", "decimal", precision=3, scale=2), "\x01\x00", Decimal("2.56")),
        (logical("bytes", "decimal", precision=3), "\xff", Decimal(-1)),
        ({**FIXED, "logicalType": "decimal", "precision": 4}, "\x00\x05", Decimal(5)),
        (FIXED, "a\xff", b"a\xff"),
        ("double", 5, 5.0),
        ("string", "5", "5"),
        ({"type": "array", "items": "bytes"}, ["a", ""], [b"a", b""]),
        ({"type": "map", "values": logical("int", "date")}, {"a": 0}, {"a": date(1970, 1, 1)}),
        (["null", "bytes", "string"], "a", b"a"),
        (["null", "string", "bytes"], "a", "a"),
        (["null", "string"], None, None),
        ("Inner", {"n": 5}, {"n": 5}),
    ],
)
def test_the_json_of_a_default_is_this_value(type_: Any, default: Any, expected: Any) -> None:
    """Avro: "default values for union fields correspond to the first schema that matches"."""
    found = value_of(type_, default, NAMED)
    assert (found, type(found)) == (expected, type(expected))


BLOCK = b"\x03\x04\x0a\x0e"
"""-2 items in 2 bytes: 5 and 7."""


@pytest.mark.parametrize("more", [b"", b"\x02\x06", BLOCK])
@pytest.mark.parametrize("walked", [False, True])
def test_blocks_with_their_size_are_read_item_by_item(more: bytes, walked: bool) -> None:
    """Avro: "If a block's count is negative, its absolute value is used"."""
    fields: list[dict[str, Any]] = [{"name": "x", "type": {"type": "array", "items": "int"}}]
    end = b"\x00"
    if walked:
        fields.append({"name": "next", "type": ["null", "State"]})
        end += b"\x00"
    codec = AvroCodec(record(*fields))
    codec.check(BLOCK + more + end, Encoding.BINARY)
    for data in (BLOCK[:-1] + end, b"\x05" + BLOCK[1:] + end):
        with pytest.raises(SchemaMismatch):
            codec.check(data, Encoding.BINARY)
