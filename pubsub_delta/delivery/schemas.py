"""The schema of a topic: validates its messages, and reads their fields."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.names import schema_name
from pubsub_delta.policy.schemas.revisions import Revision, accepted, check_range, living
from pubsub_delta.policy.schemas.validation import (
    SchemaMismatch,
    SchemaValidator,
    TypedReader,
    codec_of,
)
from pubsub_delta.resources import Topic
from pubsub_delta.schemas import Encoding, SchemaSettings
from pubsub_delta.tables.registry.schemas import StoredSchema
from pubsub_delta.tables.schemas import TEXT_BY_TEXT
from pubsub_delta.tables.store import Tables


def validator_of(tables: Tables, topic: Topic) -> SchemaValidator | None:
    """Return the validator of a topic's messages by its schema as it is now; None without one.

    FailedPrecondition if the schema was deleted, as nothing can be published then.
    """
    found = _schema_of(tables, topic)
    if found is None:
        return None
    settings, schema, revisions = found
    for revision in revisions:  # raises FailedPrecondition now if the extra is not installed
        codec_of(schema.type, revision)
    return SchemaValidator(schema.name, schema.type, Encoding(settings.encoding), tuple(revisions))


def validated(rows: pa.Table, validator: SchemaValidator | None) -> pa.Table:
    """Return messages with the attributes that their schema adds.

    InvalidArgument for the first message that does not fit, with its index.
    """
    if validator is None:
        return rows
    added: dict[str, list[tuple[str, str]]] = {}
    attributes = []
    for index, (data, own) in enumerate(zip(rows["data"], rows["attributes"], strict=True)):
        try:
            revision_id = validator.revision_of(data.as_py() or b"")
        except SchemaMismatch as why:
            raise InvalidArgument(
                f"messages[{index}].data: {validator.refused(why)}; nothing was published"
            ) from None
        if revision_id not in added:
            added[revision_id] = [*validator.attributes(revision_id).items()]
        attributes.append([*(own.as_py() or ()), *added[revision_id]])
    place = rows.schema.get_field_index("attributes")
    field = rows.schema.field(place)
    return rows.set_column(place, field, pa.array(attributes, TEXT_BY_TEXT))


def typed_reader_of(tables: Tables, topic: Topic) -> TypedReader:
    """Return a reader of the fields of a topic's messages; FailedPrecondition without a schema."""
    found = _schema_of(tables, topic)
    if found is None:
        raise FailedPrecondition(
            f"topic {topic.name} has no schema, so its messages have no fields; "
            "update_topic(schema_settings=...) gives it one"
        )
    _, schema, revisions = found
    return TypedReader(schema.name, schema.type, revisions[0], tuple(living(schema.revisions)))


def resolve_settings(
    tables: Tables,
    settings: SchemaSettings,
    project: str,
    stored: SchemaSettings | None = None,
) -> tuple[SchemaSettings, str]:
    """Return checked settings with the full name of their schema, and its uid.

    NotFound if the schema, or a revision, does not exist. ``stored``: the topic's settings so far;
    revisions that these name may be deleted by now.
    """
    schema = tables.schema(schema_name(settings.schema, project))
    named = replace(settings, schema=schema.name)
    same = stored is not None and stored.schema == schema.name
    check_range(schema.revisions, named, stored if same else None)
    return named, schema.uid


def _schema_of(
    tables: Tables, topic: Topic
) -> tuple[SchemaSettings, StoredSchema, list[Revision]] | None:
    if topic.schema_settings is None:  # most topics need no read of the registry
        return None
    stored, schema = tables.registry.schema_of(topic)
    settings = stored.schema_settings
    if settings is None:
        return None
    if schema is None:
        raise FailedPrecondition(
            f"the schema of topic {topic.name} was deleted; give the topic another one, or none, "
            "by a change of its schema settings"
        )
    first, last = settings.first_revision_id, settings.last_revision_id
    revisions = accepted(schema.revisions, first, last)
    if not revisions:
        raise FailedPrecondition(
            f"no revision of schema {schema.name} is left from {first or 'the first'} to "
            f"{last or 'the last'}, which topic {topic.name} asks for; "
            "a change of the topic's schema settings gives it others"
        )
    return settings, schema, revisions
