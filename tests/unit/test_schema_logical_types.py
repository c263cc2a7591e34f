"""Avro: what a logical type cannot show is data all the same."""

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
