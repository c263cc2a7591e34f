"""Avro: what logical types mean, by each revision, and what they cannot show."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("avro")

from pubsub_delta.policy.schemas.avro import AvroCodec
from pubsub_delta.policy.schemas.types import SchemaMismatch
from pubsub_delta.schemas import Encoding
from tests.unit.schema_cases import avro_bytes, logical, record


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (logical("int", "date"), 2**31 - 1),
        (logical("int", "date"), -(2**31)),
        (logical("long", "timestamp-micros"), 2**63 - 1),
        (logical("int", "time-millis"), 86_400_000),
        (logical("string", "uuid"), "no UUID"),
    ],
)
def test_what_a_logical_type_cannot_show_is_accepted_in_both_encodings(
    type_: Any, value: Any
) -> None:
    """Avro: a logical type is encoded as its underlying type, of which each value is data."""
    codec = AvroCodec(record({"name": "x", "type": type_}))
    data = json.dumps({"x": value}).encode()
    codec.check(data, Encoding.JSON)
    plain = record({"name": "x", "type": type_["type"]})
    codec.check(avro_bytes(plain, {"x": value}), Encoding.BINARY)
    with pytest.raises(SchemaMismatch):
        codec.values(data, Encoding.JSON, codec)


TIME, DAY = logical("long", "timestamp-micros"), logical("int", "date")
ENUM = {"type": "enum", "name": "E", "symbols": ["A"]}
FIXED = {"type": "fixed", "name": "F", "size": 1}
DAYS = {"type": "record", "name": "P", "fields": [{"name": "n", "type": DAY}]}
NUMBERS = {"type": "record", "name": "Q", "fields": [{"name": "n", "type": "int"}]}


@pytest.mark.parametrize(
    ("union", "value", "wanted"),
    [
        ([DAY, TIME], {"long": 5}, "1970-01-01T00:00:00.000005+00:00"),
        (["int", TIME], {"long": 5}, "1970-01-01T00:00:00.000005+00:00"),
        ([TIME, "int"], {"int": 5}, "5"),
        ([logical("string", "uuid"), ENUM], {"E": "A"}, "A"),
        (["string", "bytes"], {"bytes": "\u00ff"}, '"\u00ff"'),
        (["bytes", "string"], {"string": "a"}, "a"),
        ([FIXED, logical("bytes", "decimal", precision=4, scale=2)], {"bytes": "\u0001"}, "0.01"),
        ([DAYS, NUMBERS], {"Q": {"n": 1}}, '{"n": 1}'),
    ],
)
def test_a_value_of_a_union_is_of_its_branch_by_any_revision(
    union: Any, value: Any, wanted: str
) -> None:
    """Avro: a value is read by the branch that matches the one it was written as."""
    written = AvroCodec(record({"name": "x", "type": union}))
    later = AvroCodec(
        record({"name": "x", "type": union}, {"name": "y", "type": "int", "default": 0})
    )
    data = json.dumps({"x": value}).encode()
    assert written.values(data, Encoding.JSON, written) == {"x": wanted}
    assert written.values(data, Encoding.JSON, later) == {"x": wanted, "y": 0}


@pytest.mark.parametrize(
    ("written", "read", "wanted"),
    [
        ("int", "double", 7.0),
        ("int", TIME, "1970-01-01T00:00:00.000007+00:00"),
        ("bytes", "string", "7"),
        ("string", "bytes", b"7"),
        (logical("int", "decimal", precision=3), "long", 7),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, [7]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, [("k", 7)]),
    ],
)
def test_a_value_is_promoted_to_the_type_of_its_reader(
    written: Any, read: Any, wanted: Any
) -> None:
    """Avro: int is promoted to long, float or double, and bytes to string, and the other way."""
    plain = written if isinstance(written, str) else written["type"]
    value = {"array": [7], "map": {"k": 7}, "bytes": "7", "string": "7"}.get(plain, 7)
    one, other = (AvroCodec(record({"name": "x", "type": each})) for each in (written, read))
    found = one.values(json.dumps({"x": value}).encode(), Encoding.JSON, other)["x"]
    assert (found.isoformat() if read is TIME else found) == wanted
