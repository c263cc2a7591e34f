"""Definitions of types that use each other: a few lines of them have billions of fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("avro")
pytest.importorskip("grpc_tools")

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.policy.schemas.avro import AvroCodec, check_definition
from pubsub_delta.policy.schemas.types import SchemaMismatch
from pubsub_delta.schemas import Encoding
from tests.unit.schema_cases import compiled

NAMES = [f"T{place}" for place in range(8)]


def doubled(levels: int, inner: Any, **more: Any) -> str:
    """Return an Avro record each of whose levels has the one below it twice."""
    for level in range(levels):
        again = inner if isinstance(inner, str) else inner["name"]
        fields = [{"name": "a", "type": inner, **more}, {"name": "b", "type": again, **more}]
        inner = {"type": "record", "name": f"Level{level}", "fields": fields}
    return json.dumps(inner)


def test_a_type_that_is_used_twice_at_each_level_takes_no_hours() -> None:
    definition = doubled(60, "int")
    check_definition(definition)
    with pytest.raises(SchemaMismatch, match="invalid Avro data"):
        AvroCodec(definition).check(b"", Encoding.BINARY)
    with pytest.raises(FailedPrecondition, match="more than 10,000 fields"):
        _ = AvroCodec(definition).fields


def test_a_message_without_bytes_has_at_most_10_000_fields() -> None:
    check_definition(doubled(12, "null"))
    AvroCodec(doubled(12, "null")).check(b"", Encoding.BINARY)
    with pytest.raises(InvalidArgument, match="more than 10,000 fields without bytes"):
        check_definition(doubled(60, "null"))


def test_defaults_of_defaults_are_made_once() -> None:
    inner = {"type": "record", "name": "N", "fields": [{"name": "n", "type": "int", "default": 1}]}
    check_definition(doubled(60, inner, default={}))


def test_avro_types_that_all_use_each_other_are_no_columns() -> None:
    """A column has no type within itself, but every other one: 8 of them are 100,000."""

    defined = set[str]()

    def of(name: str) -> Any:
        if name in defined:
            return name
        defined.add(name)
        fields = [{"name": each, "type": {"type": "array", "items": of(each)}} for each in NAMES]
        return {"type": "record", "name": name, "fields": fields}

    definition = json.dumps(of(NAMES[0]))
    check_definition(definition)
    with pytest.raises(FailedPrecondition, match="more than 10,000 fields"):
        _ = AvroCodec(definition).fields


def test_messages_that_all_use_each_other_are_checked_and_are_no_columns() -> None:
    fields = "".join(f"repeated {name} f{at} = {at + 1}; " for at, name in enumerate(NAMES))
    inner = "".join(f"message {name} {{ {fields}}} " for name in NAMES)
    codec = compiled(f'syntax = "proto3"; message M {{ {inner} {fields}}}')
    codec.check(b'{"f0": [{"f1": [{}]}]}', Encoding.JSON)
    with pytest.raises(FailedPrecondition, match="more than 10,000 fields"):
        _ = codec.fields
