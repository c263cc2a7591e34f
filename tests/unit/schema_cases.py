"""Definitions of schemas, and messages on both sides of each, for every test of schemas."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import fastavro

from pubsub_delta import SchemaSettings
from pubsub_delta.policy.schemas import protobuf
from pubsub_delta.protoc import compile_proto
from tests.unit.in_memory import TOPIC, InMemory

STATES = "projects/local/schemas/states"


def record(*fields: dict[str, Any], name: str = "State") -> str:
    """Return an Avro record of fields as JSON."""
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


NAME = {"name": "name", "type": "string"}
AREA = {"name": "area", "type": "long", "default": 0}
CODE = {"name": "code", "type": ["null", "string"], "default": None}

AVRO = record(NAME)
AVRO_WITH_AREA = record(NAME, AREA)
AVRO_INCOMPATIBLE = record({"name": "name", "type": "long"})

PROTO = 'syntax = "proto3"; message State { string name = 1; }'
PROTO_WITH_AREA = 'syntax = "proto3"; message State { string name = 1; int64 area = 2; }'

UTAH = b'{"name": "Utah"}'
OHIO = b'{"name": "Ohio", "area": 116096}'
NO_STATE = b'{"nam": "Utah"}'


def avro_bytes(definition: str, datum: Any) -> bytes:
    """Return a datum in Avro's binary encoding."""
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(definition)), datum)
    return out.getvalue()


def compiled(definition: str) -> protobuf.ProtobufCodec:
    """Return what reads messages of a Protocol Buffers definition."""
    return protobuf.ProtobufCodec(compile_proto(definition))


def states_world() -> InMemory:
    """Return a store with a schema, and the topic ``flights`` that asks for it in JSON."""
    world = InMemory()
    world.store.create_schema("states", "AVRO", AVRO)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", "JSON"))
    return world


def told(world: InMemory, topic: str = TOPIC) -> SchemaSettings | None:
    """Return the schema settings of a topic."""
    return world.store.get_topic(topic).schema_settings


def ids(world: InMemory) -> list[str]:
    """Return the revisions of the schema, the newest first."""
    return [each.revision_id for each in world.store.list_schema_revisions("states")]


FIXED = {"type": "fixed", "name": "F", "size": 2}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
INNER = {"type": "record", "name": "I", "fields": [{"name": "n", "type": "int"}]}


def logical(type_: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": name, **more}
