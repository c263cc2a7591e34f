"""Schemas of the data of a topic's messages, with revisions, as in Pub/Sub."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

DELETED_SCHEMA = "_deleted-schema_"
"""The schema of a topic whose schema was deleted (Pub/Sub's own word)."""


class SchemaType(str, Enum):
    """The language of a schema's definition."""

    AVRO = "AVRO"
    PROTOCOL_BUFFER = "PROTOCOL_BUFFER"


class Encoding(str, Enum):
    """The encoding of a message's data; ``BINARY`` is Avro's or Protocol Buffers' own."""

    JSON = "JSON"
    BINARY = "BINARY"


@dataclass(frozen=True)
class Schema:
    """A revision of a schema.

    ``uid`` distinguishes the schema from an earlier one of the same name.

    ``definition`` is Avro's JSON or the text of a ``.proto`` file. ``revision_id``: 8 hexadecimal
    digits, different for each revision.
    """

    name: str
    type: SchemaType
    definition: str
    revision_id: str
    revision_create_time: datetime
    uid: str


@dataclass(frozen=True)
class SchemaSettings:
    """The schema that the data of a topic's messages must fit.

    ``schema``: id or full name; ``_deleted-schema_`` once the schema is gone. Each message must
    fit one of its revisions from ``first_revision_id`` to ``last_revision_id``, both included; an
    empty one sets no bound.
    """

    schema: str
    encoding: Encoding | str
    first_revision_id: str = ""
    last_revision_id: str = ""
