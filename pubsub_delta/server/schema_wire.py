"""Converts schemas to google.pubsub.v1, and its requests to arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from pubsub_delta.clock import to_micros
from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.schemas import Encoding, Schema, SchemaSettings, SchemaType
from pubsub_delta.server.grpc_services import message_class

_Schema = message_class("Schema")
_Settings = message_class("SchemaSettings")

BASIC, FULL = 1, 2
"""Views of a schema: without its definition, and with it."""

_TYPES = {SchemaType.PROTOCOL_BUFFER: 1, SchemaType.AVRO: 2}
_ENCODINGS = {Encoding.JSON: 1, Encoding.BINARY: 2}


def schema_message(schema: Schema, view: int = FULL) -> Any:
    """Return a revision of a schema as a protobuf message."""
    seconds, micros = divmod(to_micros(schema.revision_create_time), 1_000_000)
    return _Schema(
        name=schema.name,
        type_=_TYPES[schema.type],
        definition=schema.definition if view == FULL else "",
        revision_id=schema.revision_id,
        revision_create_time=Timestamp(seconds=seconds, nanos=micros * 1000),
    )


def listed_schema(schema: Schema, view: int) -> Any:
    """Return a schema of a listing: by its name and type, or all of it in the full view."""
    if view == FULL:
        return schema_message(schema)
    return _Schema(name=schema.name, type_=_TYPES[schema.type])


def definition_of(schema: Any) -> tuple[str, str]:
    """Return the type and the definition of a schema in a request."""
    if schema.HasField("compiled_proto_schema"):
        raise Unimplemented(
            "compiled_proto_schema of Schema is not supported; the definition as the text of a "
            ".proto file is accepted"
        )
    return type_name(schema), schema.definition


def type_name(schema: Any) -> str:
    """Return the name of a schema's type; an unknown number as text, which the store refuses."""
    return _named(_TYPES, schema.type_)


def settings_message(settings: SchemaSettings) -> Any:
    """Return schema settings as a protobuf message."""
    return _Settings(
        schema=settings.schema,
        encoding=_ENCODINGS[Encoding(settings.encoding)],
        first_revision_id=settings.first_revision_id,
        last_revision_id=settings.last_revision_id,
    )


def settings_of(topic: Any) -> SchemaSettings | None:
    """Return the schema settings of a topic; None if it has no schema."""
    settings = topic.schema_settings
    if not topic.HasField("schema_settings") or settings == _Settings():
        return None
    if not settings.schema:
        raise InvalidArgument(
            "schema_settings.schema: it is empty; the name of a schema is accepted"
        )
    return SchemaSettings(
        settings.schema,
        encoding_name(settings.encoding),
        settings.first_revision_id,
        settings.last_revision_id,
    )


def encoding_name(number: int) -> str:
    """Return the name of an encoding; an unknown number as text, which the store refuses."""
    return _named(_ENCODINGS, number)


def encoding_number(encoding: Encoding | str) -> int:
    """Return the number of an encoding."""
    return _ENCODINGS[Encoding(encoding)]


def type_number(type_: SchemaType | str) -> int:
    """Return the number of a type of schema."""
    return _TYPES[SchemaType(type_)]


def _named(numbers: dict[Any, int], wanted: int) -> str:
    found: Iterable[Any] = (each for each, number in numbers.items() if number == wanted)
    name = next(iter(found), None)
    if name is None:
        return str(wanted) if wanted else "UNSPECIFIED"
    return str(name.value)
