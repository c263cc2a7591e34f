"""The methods of PubSub for schemas. They need the extra ``schemas``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.methods.store import Store
from pubsub_delta.names import revision_name, schema_name
from pubsub_delta.operations import schemas
from pubsub_delta.resources import Page
from pubsub_delta.schemas import Encoding, Schema, SchemaType


def create_schema(self: Store, schema: str, type: SchemaType | str, definition: str) -> Schema:
    """Create a schema with its first revision. AlreadyExists if the name is taken.

    ``type``: ``"AVRO"`` or ``"PROTOCOL_BUFFER"``. ``definition``: the JSON of an Avro record, or
    the text of a ``.proto`` file with one top-level message and without imports; at most 300 KB.
    """
    name = schema_name(schema, self._project)
    return schemas.create_schema(self._tables, name, self._clock.now(), type, definition)


def get_schema(self: Store, schema: str) -> Schema:
    """Return the newest revision of a schema, or the one of ``schema@revision``. NotFound."""
    return schemas.get_schema(self._tables, *revision_name(schema, self._project))


def list_schemas(
    self: Store,
    *,
    project: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Page[Schema]:
    """List the schemas of a project, by name, each with its newest revision."""
    return schemas.list_schemas(self._tables, self._project_or(project), page_size, page_token)


def list_schema_revisions(
    self: Store, schema: str, *, page_size: int | None = None, page_token: str | None = None
) -> Page[Schema]:
    """List the revisions of a schema, the newest first."""
    name = schema_name(schema, self._project)
    return schemas.list_schema_revisions(self._tables, name, page_size, page_token)


def commit_schema(
    self: Store, schema: str, definition: str, type: SchemaType | str | None = None
) -> Schema:
    """Add a revision; topics without a ``last_revision_id`` accept it at once.

    InvalidArgument unless it is compatible with each existing revision. With Avro, each of the two
    must read the data of the other; with Protocol Buffers, only optional fields can be added or
    removed. FailedPrecondition if the schema has 20 revisions.
    """
    name = schema_name(schema, self._project)
    return schemas.commit_schema(self._tables, name, self._clock.now(), type, definition)


def rollback_schema(self: Store, schema: str, revision_id: str) -> Schema:
    """Add a revision with the definition of an earlier one, and return it."""
    name = schema_name(schema, self._project)
    return schemas.rollback_schema(self._tables, name, self._clock.now(), revision_id)


def delete_schema_revision(self: Store, schema: str) -> Schema:
    """Delete the revision ``schema@revision``, and return it.

    FailedPrecondition for the only one. A topic whose first revision this was goes on with the next
    one; a topic whose last revision it was, with the one before.
    """
    name, revision_id = revision_name(schema, self._project)
    if not revision_id:
        raise InvalidArgument(
            f"schema: {schema!r} names no revision; {name.id}@ and its 8 hexadecimal digits "
            "are accepted"
        )
    self._clock.check()
    return schemas.delete_schema_revision(self._tables, name, revision_id)


def delete_schema(self: Store, schema: str) -> None:
    """Delete a schema with its revisions.

    Its topics then have the schema ``_deleted-schema_``, and refuse messages until they are given
    another schema or none.
    """
    self._clock.check()
    schemas.delete_schema(self._tables, schema_name(schema, self._project))


def validate_schema(self: Store, type: SchemaType | str, definition: str) -> None:
    """Raise InvalidArgument for a definition that ``create_schema`` would refuse; write nothing."""
    schemas.validate_schema(type, definition, self._clock.now())


def validate_message(
    self: Store,
    message: bytes | str,
    encoding: Encoding | str,
    schema: str | None = None,
    *,
    type: SchemaType | str | None = None,
    definition: str | None = None,
) -> None:
    """Raise InvalidArgument, with the reason, for a message that does not fit.

    ``schema``: its newest revision, or the one of ``schema@revision``. Or give a ``type`` and a
    ``definition`` instead.
    """
    name = None if schema is None else revision_name(schema, self._project)
    given = type is not None or definition is not None
    ad_hoc = (type, definition) if given else None
    schemas.validate_message(self._tables, message, encoding, name, ad_hoc, self._clock.now())


def message_fields(self: Store, data: bytes, attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a message of a topic with a schema.

    Its attributes name the revision by which the data is read. InvalidArgument if they name none,
    or the data does not fit; NotFound if the schema or the revision no longer exists.
    """
    return schemas.message_fields(self._tables, data, attributes, self._project)
