"""Avro's binary encoding: what does not fit is told with its field, and numbers have their bits."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("fastavro")

from pubsub_delta.clock import FIRST_TIME
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.schemas.avro import AvroCodec
from pubsub_delta.policy.schemas.revisions import Revision
from pubsub_delta.policy.schemas.types import SchemaMismatch
from pubsub_delta.policy.schemas.validation import SchemaValidator, TypedReader
from pubsub_delta.schemas import Encoding, SchemaSettings, SchemaType
from pubsub_delta.tables.schemas import MESSAGE_COLUMNS, MESSAGES
from pubsub_delta.tables.typed import typed_rows
from tests.unit.in_memory import TOPIC, InMemory
from tests.unit.schema_cases import avro_bytes, record

BINARY = Encoding.BINARY
INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "counts", "type": {"type": "array", "items": "long"}},
        {"name": "note", "type": ["null", "string"]},
    ],
}
OUTER = record({"name": "name", "type": "string"}, {"name": "inner", "type": INNER})
NESTED = record(
    {"name": "name", "type": "string"},
    {"name": "inner", "type": INNER},
    {"name": "next", "type": ["null", "State"]},
)
"""A type within itself, whose data is walked over before it is read."""


@pytest.mark.parametrize("definition", [OUTER, NESTED])
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "field 'name': it ends too early"),
        (b"\x02", "field 'name': 1 is not one of 0 to 0"),
        (b"\x02\xff", "field 'name': invalid UTF-8"),
        (b"\x02a\x04", "field 'inner.kind': 2 is not one of 0 to 1"),
        (b"\x02a\x02\x02", "field 'inner.counts': it ends too early"),
        (b"\x02a\x02\x00\x06", "field 'inner.note': 3 is not one of 0 to 1"),
    ],
)
def test_what_does_not_fit_is_told_with_its_field(definition: str, data: bytes, told: str) -> None:
    """Schemas: "The error names the message and the field"."""
    with pytest.raises(SchemaMismatch, match=f"^invalid Avro data: {told}"):
        AvroCodec(definition).check(data, BINARY)


def test_what_is_left_over_is_of_no_field() -> None:
    with pytest.raises(SchemaMismatch, match=r"^invalid Avro data: 1 bytes are left over"):
        AvroCodec(record({"name": "n", "type": "long"})).check(b"\x02\x00", BINARY)


NUMBER = record({"name": "n", "type": "int"})
LARGE = avro_bytes(record({"name": "n", "type": "long"}), {"n": 2**31})
"""``fastavro`` reads a number of any size, whatever its type."""


@pytest.mark.parametrize(
    "type_",
    [
        "int",
        {"type": "int", "logicalType": "date"},
        ["null", "int"],
        {"type": "array", "items": "int"},
        {
            "type": "map",
            "values": {"type": "record", "name": "I", "fields": [{"name": "n", "type": "int"}]},
        },
    ],
)
@pytest.mark.parametrize("walked", [False, True])
def test_an_int_has_at_most_32_bits(type_: Any, walked: bool) -> None:
    """Avro's specification: "int: 32-bit signed integer"."""
    before = {"list": b"\x02", "array": b"\x02", "map": b"\x02\x02k"}
    kind = "list" if isinstance(type_, list) else type_ if type_ == "int" else type_["type"]
    begin, end = before.get(kind, b""), b"\x00" if kind in ("array", "map") else b""
    fields: list[dict[str, Any]] = [{"name": "x", "type": type_}]
    if walked:
        fields.append({"name": "next", "type": ["null", "State"]})
        end += b"\x00"
    codec = AvroCodec(record(*fields))
    for number in (2**31 - 1, -(2**31)):
        codec.check(begin + encoded(number) + end, BINARY)
    for number in (2**31, -(2**31) - 1, 2**40):
        with pytest.raises(SchemaMismatch, match=f"field 'x[^']*': {number} has more than 32 bits"):
            codec.check(begin + encoded(number) + end, BINARY)


def encoded(number: int) -> bytes:
    return avro_bytes(record({"name": "n", "type": "long"}), {"n": number})


def test_a_long_has_at_most_64_bits() -> None:
    codec = AvroCodec(record({"name": "n", "type": "long"}))
    for number in (2**63 - 1, -(2**63)):
        codec.check(encoded(number), BINARY)
    with pytest.raises(SchemaMismatch, match="has more than 64 bits"):
        codec.check(b"\xff" * 9 + b"\x7f", BINARY)


def test_a_boolean_is_0_or_1() -> None:
    """Avro's specification: "a single byte whose value is either 0 (false) or 1 (true)"."""
    codec = AvroCodec(record({"name": "n", "type": "boolean"}))
    for data in (b"\x00", b"\x01"):
        codec.check(data, BINARY)
    for data in (b"\x02", b"\xff"):
        with pytest.raises(SchemaMismatch, match=f"field 'n': {data[0]} is not one of 0 to 1"):
            codec.check(data, BINARY)


def test_a_message_with_a_larger_int_is_refused() -> None:
    world = InMemory()
    world.store.create_schema("numbers", "AVRO", NUMBER)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("numbers", "BINARY"))
    with pytest.raises(InvalidArgument, match=r"messages\[0\].data: .*'n': .* more than 32 bits"):
        world.store.publish(TOPIC, [LARGE])


def test_one_that_was_accepted_before_hides_no_other() -> None:
    """ "`schema_error` tells why": its column has no such number."""
    kind, revision = SchemaType.AVRO, Revision("0a1b2c3d", FIRST_TIME, NUMBER)
    added = SchemaValidator("s", kind, BINARY, (revision,)).attributes(revision.revision_id)
    data = [avro_bytes(NUMBER, {"n": 1}), LARGE]
    rows = {name: pa.nulls(2, MESSAGES.columns.field(name).type) for name in MESSAGE_COLUMNS}
    rows |= {"message_id": pa.array(["0", "1"]), "data": pa.array(data)}
    rows["attributes"] = pa.array([[*added.items()]] * 2, MESSAGES.columns.field("attributes").type)
    found = typed_rows(pa.table(rows), TypedReader("s", kind, revision, (revision,)))
    assert found["n"].to_pylist() == [1, None]
    assert found["schema_error"].to_pylist() == [
        None,
        "invalid Avro data: 2147483648 has more than 32 bits",
    ]
