"""Create, find, list, revise, validate and delete schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pubsub_delta.errors import AlreadyExists, InvalidArgument, NotFound, needing_extra
from pubsub_delta.names import ResourceName, schema_name
from pubsub_delta.policy.paging import page, page_in_order
from pubsub_delta.policy.schemas import revisions as rules
from pubsub_delta.policy.schemas import validation
from pubsub_delta.policy.schemas.revisions import Revision, living
from pubsub_delta.policy.schemas.validation import SchemaMismatch
from pubsub_delta.resources import Page
from pubsub_delta.schemas import Schema, SchemaType
from pubsub_delta.tables.registry.schemas import StoredSchema
from pubsub_delta.tables.store import Tables


def create_schema(
    tables: Tables, name: ResourceName, now: datetime, type_: object, definition: object
) -> Schema:
    """Create a schema with its first revision."""
    kind = rules.check_type(type_)
    revision = _revision(kind, definition, rules.new_revision_id((), tables.new_id), now)
    schema = StoredSchema(str(name), tables.new_id(), kind, now, (revision,))
    taken = tables.registry.schemas.find(schema.name) is not None
    if taken or not tables.registry.schemas.add(schema):
        raise AlreadyExists(
            f"schema {name} exists already; commit_schema adds a revision to it, or choose "
            "another name"
        )
    return schema.schema(revision)


def get_schema(tables: Tables, name: ResourceName, revision_id: str) -> Schema:
    """Return a revision of a schema, the newest if none is named."""
    schema = tables.schema(name)
    return schema.schema(rules.find(schema.revisions, schema.name, revision_id))


def list_schemas(
    tables: Tables, project: str, page_size: int | None, page_token: str | None
) -> Page[Schema]:
    """List the schemas of a project by name, each by its newest revision."""
    found = tables.registry.schemas.with_prefix(f"projects/{project}/")
    newest = [each.schema(each.newest) for each in found]
    return page(newest, page_size, page_token, f"projects/{project}/schemas/")


def list_schema_revisions(
    tables: Tables, name: ResourceName, page_size: int | None, page_token: str | None
) -> Page[Schema]:
    """List the revisions of a schema, the newest first."""
    schema = tables.schema(name)
    ranked = [(place, each) for place, each in enumerate(schema.revisions)]
    found = [(-place, schema.schema(each)) for place, each in reversed(ranked) if each.definition]
    return page_in_order(found, page_size, page_token)


def commit_schema(
    tables: Tables, name: ResourceName, now: datetime, type_: object, definition: object
) -> Schema:
    """Add a revision that is compatible with all existing ones."""
    schema = tables.schema(name)
    kind = rules.check_type(type_ if type_ is not None else schema.type)
    if kind is not schema.type:
        raise InvalidArgument(
            f"type: {kind.value}, and schema {name} is {schema.type.value}; a revision is of the "
            "type of its schema"
        )
    made = _revision(kind, definition, "", now)

    def decide(stored: StoredSchema) -> Sequence[Revision]:
        """Decide on the stored revisions: other writers may have added one since."""
        for each in reversed(living(stored.revisions)):
            validation.check_compatible(kind, made, each)
        return _with(stored, made, tables)

    return _newest(tables.registry.schemas.change(schema.uid, decide), name)


def rollback_schema(tables: Tables, name: ResourceName, now: datetime, revision_id: str) -> Schema:
    """Add a revision with the definition of an earlier one."""
    schema = tables.schema(name)
    _check_revision_id(revision_id)

    def decide(stored: StoredSchema) -> Sequence[Revision]:
        wanted = rules.find(stored.revisions, stored.name, revision_id)
        return _with(stored, replace(wanted, create_time=now), tables)

    return _newest(tables.registry.schemas.change(schema.uid, decide), name)


def delete_schema_revision(tables: Tables, name: ResourceName, revision_id: str) -> Schema:
    """Delete a revision that is not the only one; return it as it was."""
    schema = tables.schema(name)
    _check_revision_id(revision_id)
    gone: Revision | None = None

    def decide(stored: StoredSchema) -> Sequence[Revision]:
        nonlocal gone
        gone = rules.find(stored.revisions, stored.name, revision_id)
        return rules.deleted(stored.revisions, stored.name, revision_id)

    if tables.registry.schemas.change(schema.uid, decide) is None or gone is None:
        raise _deleted(name)
    return schema.schema(gone)


def delete_schema(tables: Tables, name: ResourceName) -> None:
    """Delete a schema with its revisions; its topics have ``_deleted-schema_`` from then on."""
    if not tables.registry.schemas.remove(tables.schema(name).uid):
        raise _deleted(name)


def validate_schema(type_: object, definition: object, now: datetime) -> None:
    """Raise InvalidArgument for a definition that ``create_schema`` would refuse."""
    _revision(rules.check_type(type_), definition, "", now)


def validate_message(
    tables: Tables,
    message: object,
    encoding: object,
    name: tuple[ResourceName, str] | None,
    ad_hoc: tuple[object, object] | None,
    now: datetime,
) -> None:
    """Raise InvalidArgument for a message that does not fit a schema, or a type and definition."""
    chosen = rules.check_encoding(encoding, "encoding")
    if (name is None) == (ad_hoc is None):
        raise InvalidArgument("schema: either a schema, or a type and a definition, is accepted")
    if name is not None:
        schema = tables.schema(name[0])
        revision = rules.find(schema.revisions, schema.name, name[1])
        kind, described = schema.type, schema.name
    else:
        assert ad_hoc is not None
        kind = rules.check_type(ad_hoc[0])
        revision, described = _revision(kind, ad_hoc[1], "", now), "the definition"
    if isinstance(message, str):
        message = message.encode("utf-8", "surrogatepass")
    if not isinstance(message, (bytes, bytearray)):
        raise InvalidArgument(f"message: {type(message).__name__}; bytes or text is accepted")
    try:
        validation.codec_of(kind, revision).check(bytes(message), chosen)
    except SchemaMismatch as why:
        raise InvalidArgument(
            f"message: it does not fit {described} in {chosen.value}: {why}"
        ) from None


def message_fields(
    tables: Tables, data: bytes, attributes: Mapping[str, str], project: str
) -> dict[str, Any]:
    """Return the fields of a message, read by the revision that its attributes name."""
    if not isinstance(data, (bytes, bytearray)):
        raise InvalidArgument(f"data: {type(data).__name__}; bytes are accepted")
    if not isinstance(attributes, Mapping):
        raise InvalidArgument(f"attributes: {attributes!r} is not a mapping; texts are accepted")
    name = attributes.get(validation.NAME_ATTRIBUTE)
    if name is None:
        raise InvalidArgument(
            f"attributes: {validation.NAME_ATTRIBUTE} is absent; a message has fields if its "
            "topic had a schema when it was published"
        )
    schema = tables.schema(schema_name(name, project))
    revision_id = attributes.get(validation.REVISION_ATTRIBUTE, "")
    codec = validation.codec_of(schema.type, rules.find(schema.revisions, schema.name, revision_id))
    named = attributes.get(validation.ENCODING_ATTRIBUTE)
    encoding = rules.check_encoding(named, f"attributes.{validation.ENCODING_ATTRIBUTE}")
    try:
        return codec.values(bytes(data), encoding, codec)
    except SchemaMismatch as why:
        raise InvalidArgument(
            f"data: it does not fit revision {revision_id} of {schema.name} in {encoding.value}: "
            f"{why}"
        ) from None


def _revision(kind: SchemaType, definition: object, revision_id: str, now: datetime) -> Revision:
    """Return a revision of a definition that was checked."""
    text = rules.check_definition(definition)
    with needing_extra("schemas"):
        if kind is SchemaType.AVRO:
            from pubsub_delta.policy.schemas import avro

            avro.check_definition(text)
            return Revision(revision_id, now, text)
        from pubsub_delta.policy.schemas import protobuf
        from pubsub_delta.protoc import compile_proto  # it imports what runs processes
    compiled = compile_proto(text)
    protobuf.check_compiled(compiled)
    return Revision(revision_id, now, text, compiled)


def _with(stored: StoredSchema, made: Revision, tables: Tables) -> Sequence[Revision]:
    named = replace(made, revision_id=rules.new_revision_id(stored.revisions, tables.new_id))
    return rules.added(stored.revisions, stored.name, named)


def _newest(changed: StoredSchema | None, name: ResourceName) -> Schema:
    if changed is None:
        raise _deleted(name)
    return changed.schema(changed.newest)


def _check_revision_id(revision_id: object) -> None:
    if not isinstance(revision_id, str) or not revision_id:
        raise InvalidArgument(
            f"revision_id: {revision_id!r} is not a revision; its 8 hexadecimal digits are accepted"
        )


def _deleted(name: ResourceName) -> NotFound:
    return NotFound(f"schema {name} was deleted meanwhile; create it again")
