"""Schemas: what the data of a topic's messages must be, by revisions, as Google has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

DELETED_SCHEMA = "_deleted-schema_"
"""The schema of a topic whose schema was deleted (Pub/Sub's own word)."""


class SchemaType(str, Enum):
    """In what language a schema is defined."""

    AVRO = "AVRO"
    PROTOCOL_BUFFER = "PROTOCOL_BUFFER"


class Encoding(str, Enum):
    """How the data of a message is written: ``BINARY`` is Avro's or Protocol Buffers' own."""

    JSON = "JSON"
    BINARY = "BINARY"


@dataclass(frozen=True)
class Schema:
    """A revision of a schema. ``uid`` tells the schema from an earlier one of the same name.

    ``definition`` is Avro's JSON or the text of a ``.proto`` file. ``revision_id``: 8 hexadecimal
    digits, other ones for each revision.
    """

    name: str
    type: SchemaType
    definition: str
    revision_id: str
    revision_create_time: datetime
    uid: str


@dataclass(frozen=True)
class SchemaSettings:
    """What a topic asks of the data of its messages.

    ``schema``: id or full name; ``_deleted-schema_`` once the schema is gone. Each message must
    fit one of its revisions from ``first_revision_id`` to ``last_revision_id``, both included; an
    empty one sets no bound.
    """

    schema: str
    encoding: Encoding | str
    first_revision_id: str = ""
    last_revision_id: str = ""
