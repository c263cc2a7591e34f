"""Validates message data against the schema of its topic, and reads its fields.

``SchemaValidator`` and ``TypedReader`` are sent to executors, so they are small: they hold the
text of definitions, and each process caches what it has parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from pubsub_delta.errors import InvalidArgument, needing_extra
from pubsub_delta.policy.schemas.revisions import Revision
from pubsub_delta.policy.schemas.types import RecordOf, SchemaMismatch
from pubsub_delta.schemas import Encoding, SchemaType

ENCODING_ATTRIBUTE = "googclient_schemaencoding"
NAME_ATTRIBUTE = "googclient_schemaname"
REVISION_ATTRIBUTE = "googclient_schemarevisionid"
ATTRIBUTES = frozenset({ENCODING_ATTRIBUTE, NAME_ATTRIBUTE, REVISION_ATTRIBUTE})
"""Attributes that Pub/Sub adds to the messages of a topic with a schema."""

__all__ = [
    "Codec",
    "SchemaMismatch",
    "SchemaValidator",
    "TypedReader",
    "check_compatible",
    "codec_of",
]


class Codec(Protocol):
    """Reads messages of one revision."""

    @property
    def fields(self) -> RecordOf:
        """The fields of a message, with their types."""

    def check(self, data: bytes, encoding: Encoding) -> None:
        """Raise SchemaMismatch unless data is a message of the revision."""

    def values(self, data: bytes, encoding: Encoding, reader: Any) -> dict[str, Any]:
        """Return the fields of a message, by the schema of another revision; SchemaMismatch."""


@lru_cache(maxsize=256)
def _codec(type_: SchemaType, definition: str, compiled: bytes | None) -> Codec:
    with needing_extra("schemas"):
        if type_ is SchemaType.AVRO:
            from pubsub_delta.policy.schemas.avro import AvroCodec

            return AvroCodec(definition)
        from pubsub_delta.policy.schemas.protobuf import ProtobufCodec

        assert compiled is not None
        return ProtobufCodec(compiled)


def codec_of(type_: SchemaType, revision: Revision) -> Codec:
    """Return the codec of a revision that is not deleted."""
    assert revision.definition is not None
    return _codec(type_, revision.definition, revision.compiled)


def check_compatible(type_: SchemaType, new: Revision, old: Revision) -> None:
    """Raise InvalidArgument for a new revision that is incompatible with an earlier one."""
    try:
        if type_ is SchemaType.AVRO:
            from pubsub_delta.policy.schemas import avro

            assert new.definition is not None
            assert old.definition is not None
            avro.check_compatible(new.definition, old.definition)
        else:
            from pubsub_delta.policy.schemas import protobuf

            assert new.compiled is not None
            assert old.compiled is not None
            protobuf.check_compatible(new.compiled, old.compiled)
    except SchemaMismatch as why:
        raise InvalidArgument(
            f"definition: the revision is incompatible with the previous revision "
            f"{old.revision_id}: {why}; a compatible definition is accepted"
        ) from None


@dataclass(frozen=True)
class SchemaValidator:
    """Validates data against the revisions that a topic accepts, newest first."""

    schema: str
    type: SchemaType
    encoding: Encoding
    revisions: tuple[Revision, ...]

    def revision_of(self, data: bytes) -> str:
        """Return the id of the newest revision that data fits.

        SchemaMismatch, with the reason of the newest, if it fits none. Pub/Sub: a message must
        fit any revision of the range.
        """
        reason: SchemaMismatch | None = None
        for revision in self.revisions:
            try:
                codec_of(self.type, revision).check(data, self.encoding)
            except SchemaMismatch as why:
                reason = reason or why
            else:
                return revision.revision_id
        raise SchemaMismatch(f"{reason} (revision {self.revisions[0].revision_id})")

    def attributes(self, revision_id: str) -> dict[str, str]:
        """Return the attributes that Pub/Sub adds to a message of a revision."""
        return {
            ENCODING_ATTRIBUTE: self.encoding.value,
            NAME_ATTRIBUTE: self.schema,
            REVISION_ATTRIBUTE: revision_id,
        }

    def refused(self, why: object) -> str:
        """Return the text of an error about data that does not fit."""
        return f"it does not fit schema {self.schema} in {self.encoding.value}: {why}"


@dataclass(frozen=True)
class TypedReader:
    """Reads the messages of a topic, of any revision, as fields of the newest revision.

    ``revisions``: all that are not deleted. ``newest``: the revision that defines the columns.
    """

    schema: str
    type: SchemaType
    newest: Revision
    revisions: tuple[Revision, ...]

    @property
    def fields(self) -> RecordOf:
        """The fields, with their types."""
        return codec_of(self.type, self.newest).fields

    def values(self, data: bytes, attributes: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields of a message; SchemaMismatch if its own revision cannot read it."""
        name = attributes.get(NAME_ATTRIBUTE)
        if name is None:
            raise SchemaMismatch("it was published when the topic had no schema")
        if name != self.schema:
            raise SchemaMismatch(f"it was published under {name}")
        revision_id = attributes.get(REVISION_ATTRIBUTE)
        own = next((each for each in self.revisions if each.revision_id == revision_id), None)
        if own is None:
            raise SchemaMismatch(f"revision {revision_id} of {name} was deleted")
        encoding = Encoding(attributes.get(ENCODING_ATTRIBUTE, ""))
        codec, reader = codec_of(self.type, own), codec_of(self.type, self.newest)
        return codec.values(data, encoding, reader)
