"""The options by which ``topics create`` and ``topics update`` give a topic its schema."""

from __future__ import annotations

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import SCHEMA
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.schemas import Encoding, SchemaSettings

ENCODINGS = ("json", "binary")

schema_options = options(
    click.option("--schema", type=SCHEMA, help="The schema that the data of messages must fit."),
    click.option(
        "--message-encoding",
        type=click.Choice(ENCODINGS, case_sensitive=False),
        help="The encoding of the data of messages.",
    ),
    click.option("--schema-project", help="The project of the schema."),
    click.option("--first-revision-id", help="The first revision that messages may fit."),
    click.option("--last-revision-id", help="The last revision that messages may fit."),
)
"""The options of a schema to a command."""


def schema_settings(
    app: App,
    so_far: SchemaSettings | None,
    *,
    schema: str | None = None,
    message_encoding: str | None = None,
    schema_project: str | None = None,
    first_revision_id: str | None = None,
    last_revision_id: str | None = None,
) -> SchemaSettings | None:
    """Return the schema settings of the options over those of a topic; None without options.

    A new schema needs its encoding; revisions that are not given do not bound it.
    """
    settings = (message_encoding, schema_project, first_revision_id, last_revision_id)
    if schema is None:
        if all(each is None for each in settings):
            return None
        if so_far is None or schema_project is not None:
            raise click.UsageError("--schema is needed with the other options of a schema")
        name, encoding = so_far.schema, message_encoding or Encoding(so_far.encoding).value
        first = so_far.first_revision_id if first_revision_id is None else first_revision_id
        last = so_far.last_revision_id if last_revision_id is None else last_revision_id
    else:
        if message_encoding is None:
            raise click.UsageError("--message-encoding is needed with --schema: json or binary")
        name, encoding = app.schema(schema, schema_project), message_encoding
        first, last = first_revision_id or "", last_revision_id or ""
    return SchemaSettings(name, encoding.upper(), first, last)
