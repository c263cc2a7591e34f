"""Checks lines against the schema of their topic, before they are published.

A publish refuses all of its messages for one that does not fit. So the lines are checked first: the
error then names them by their places in the file, and nothing of the file is published.
"""

from __future__ import annotations

from dataclasses import replace

from pubsub_delta.cli.application import App
from pubsub_delta.cli.listing import list_all
from pubsub_delta.cli.message_lines import WhyNot
from pubsub_delta.errors import PubSubError
from pubsub_delta.policy.schemas.revisions import Revision, accepted
from pubsub_delta.policy.schemas.validation import SchemaMismatch, SchemaValidator, codec_of
from pubsub_delta.protoc import compile_proto
from pubsub_delta.resources import Topic
from pubsub_delta.schemas import Encoding, SchemaSettings, SchemaType


def why_not_by_schema(app: App, topic: Topic) -> WhyNot | None:
    """Return the check of data by the schema that a topic has now; None without one.

    None, too, if the schema cannot be read here: it was deleted, a server does not show it, or the
    extra is not installed. Then the publish itself says what does not fit.
    """
    settings = topic.schema_settings
    if settings is None:
        return None
    try:
        validator = _validator(app, settings)
        for each in validator.revisions:
            codec_of(validator.type, each)
    except PubSubError:
        return None

    def why_not(data: bytes) -> str | None:
        try:
            validator.revision_of(data)
        except SchemaMismatch as why:
            return f"data: {validator.refused(why)}"
        return None

    return why_not if validator.revisions else None


def _validator(app: App, settings: SchemaSettings) -> SchemaValidator:
    """Return the validator of settings; it accepts more where a bound of theirs was deleted."""
    found = list_all(
        app, lambda service, token: service.list_schema_revisions(settings.schema, page_token=token)
    )
    revisions = [
        Revision(each.revision_id, each.revision_create_time, each.definition)
        for each in reversed(found)
    ]
    chosen = accepted(revisions, settings.first_revision_id, settings.last_revision_id)
    kind, encoding = found[0].type, Encoding(settings.encoding)
    if kind is SchemaType.PROTOCOL_BUFFER:
        chosen = [replace(each, compiled=compile_proto(each.definition or "")) for each in chosen]
    return SchemaValidator(settings.schema, kind, encoding, tuple(chosen))
