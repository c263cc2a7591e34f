"""Avro's binary encoding: what does not fit is told with its field, and numbers have their bits."""

from __future__ import annotations

import pytest

pytest.importorskip("fastavro")

from pubsub_delta.policy.schemas.avro import AvroCodec
from pubsub_delta.policy.schemas.types import SchemaMismatch
from pubsub_delta.schemas import Encoding
from tests.unit.schema_cases import record

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
