"""``pubsub-delta schemas``: schemas that the data of messages must fit, and their revisions."""

from __future__ import annotations

from pathlib import Path

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import SCHEMA
from pubsub_delta.cli.commands import Group
from pubsub_delta.cli.listing import list_all, listing_options
from pubsub_delta.cli.rest import schema_record
from pubsub_delta.cli.schema_options import ENCODINGS
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.names import revision_name
from pubsub_delta.policy.schemas.revisions import LARGEST_DEFINITION
from pubsub_delta.schemas import SchemaType

TYPES = ("avro", "protocol-buffer")

schemas = Group(
    "schemas",
    help="Create, show, revise and delete schemas, and validate messages.",
    examples=[
        "schemas create states --type=avro --definition-file=states.avsc",
        "schemas list",
    ],
)

_definition_options = options(
    click.option(
        "--type",
        "type_",
        type=click.Choice(TYPES, case_sensitive=False),
        help="The type of the definition.",
    ),
    click.option("--definition", help="The text of the definition."),
    click.option("--definition-file", metavar="FILE", help="The file with the definition."),
)


@schemas.command(
    "create",
    examples=[
        "schemas create states --type=avro --definition-file=states.avsc",
        "schemas create keys --type=protocol-buffer "
        "--definition='syntax = \"proto3\"; message Key { string key = 1; }'",
    ],
)
@click.argument("schema")
@_definition_options
@click.pass_obj
def create(
    app: App, schema: str, type_: str | None, definition: str | None, definition_file: str | None
) -> None:
    """Create a schema with its first revision."""
    kind, text = _type_and_definition(type_, definition, definition_file)
    name = app.schema(schema)
    made = app.call(lambda store: store.create_schema(name, kind, text))
    app.print_status(f"Created schema [{made.name}].")
    app.show_changed([schema_record(made)])


@schemas.command(
    "commit", examples=["schemas commit states --type=avro --definition-file=states-2.avsc"]
)
@click.argument("schema", type=SCHEMA)
@_definition_options
@click.pass_obj
def commit(
    app: App, schema: str, type_: str | None, definition: str | None, definition_file: str | None
) -> None:
    """Add a revision to a schema; it must be compatible with the earlier ones."""
    kind, text = _type_and_definition(type_, definition, definition_file)
    name = app.schema(schema)
    made = app.call(lambda store: store.commit_schema(name, text, kind))
    app.print_status(f"Committed schema revision [{made.name}@{made.revision_id}].")
    app.show_changed([schema_record(made)])


@schemas.command("rollback", examples=["schemas rollback states --revision-id=0a0b0c0d"])
@click.argument("schema", type=SCHEMA)
@click.option(
    "--revision-id", required=True, help="The revision whose definition becomes the newest again."
)
@click.pass_obj
def rollback(app: App, schema: str, revision_id: str) -> None:
    """Add a revision with the definition of an earlier one."""
    name = app.schema(schema)
    made = app.call(lambda store: store.rollback_schema(name, revision_id))
    app.print_status(f"Rolled back to schema revision [{made.name}@{made.revision_id}].")
    app.show_changed([schema_record(made)])


@schemas.command(
    "describe", examples=["schemas describe states", "schemas describe states@0a0b0c0d"]
)
@click.argument("schema", type=SCHEMA)
@click.pass_obj
def describe(app: App, schema: str) -> None:
    """Show a schema: its newest revision, or the named one."""
    name = _revision(app, schema)
    app.show(schema_record(app.call(lambda store: store.get_schema(name))))


@schemas.command("list", examples=["schemas list --format='value(name)'"])
@listing_options
@click.pass_obj
def list_(app: App, limit: int | None) -> None:
    """List the schemas of the project."""
    found = list_all(app, lambda store, token: store.list_schemas(page_token=token), limit)
    app.show_all([schema_record(each) for each in found])


@schemas.command("list-revisions", examples=["schemas list-revisions states"])
@click.argument("schema", type=SCHEMA)
@listing_options
@click.pass_obj
def list_revisions(app: App, schema: str, limit: int | None) -> None:
    """List the revisions of a schema, the newest first."""
    name = app.schema(schema)
    found = list_all(
        app, lambda store, token: store.list_schema_revisions(name, page_token=token), limit
    )
    app.show_all([schema_record(each) for each in found])


@schemas.command("delete", examples=["schemas delete states --quiet"])
@click.argument("schema", type=SCHEMA, nargs=-1, required=True)
@click.pass_obj
def delete(app: App, schema: tuple[str, ...]) -> None:
    """Delete schemas with their revisions; publishing to their topics is then refused."""
    app.delete_each("schema", schema, app.schema, lambda store, name: store.delete_schema(name))


@schemas.command("delete-revision", examples=["schemas delete-revision states@0a0b0c0d --quiet"])
@click.argument("schema", type=SCHEMA)
@click.pass_obj
def delete_revision(app: App, schema: str) -> None:
    """Delete a revision of a schema; to delete the only one, delete the schema."""
    name = _revision(app, schema)
    app.confirm_deletion([name])
    app.call(lambda store: store.delete_schema_revision(name))
    app.print_status(f"Deleted schema revision [{name}].")


@schemas.command(
    "validate-schema",
    examples=["schemas validate-schema --type=avro --definition-file=states.avsc"],
)
@_definition_options
@click.pass_obj
def validate_schema(
    app: App, type_: str | None, definition: str | None, definition_file: str | None
) -> None:
    """Check that a definition is accepted, without creating a schema."""
    kind, text = _type_and_definition(type_, definition, definition_file)
    app.call(lambda store: store.validate_schema(kind, text))
    app.print_status("Schema is valid.")


@schemas.command(
    "validate-message",
    examples=[
        "schemas validate-message --schema-name=states --message-encoding=json "
        '--message=\'{"name": "Alaska"}\'',
    ],
)
@click.option("--message", required=True, help="The data of the message.")
@click.option(
    "--message-encoding",
    type=click.Choice(ENCODINGS, case_sensitive=False),
    required=True,
    help="The encoding of the message.",
)
@click.option("--schema-name", type=SCHEMA, help="The schema, perhaps with @ and a revision.")
@_definition_options
@click.pass_obj
def validate_message(
    app: App,
    message: str,
    message_encoding: str,
    schema_name: str | None,
    type_: str | None,
    definition: str | None,
    definition_file: str | None,
) -> None:
    """Check that a message fits a schema, or a definition."""
    inline = (type_, definition, definition_file)
    data, encoding = message.encode("utf-8", "surrogateescape"), message_encoding.upper()
    if schema_name is not None:
        if any(each is not None for each in inline):
            raise click.UsageError("--schema-name, or --type with a definition, is accepted")
        name = _revision(app, schema_name)
        app.call(lambda store: store.validate_message(data, encoding, name))
    else:
        kind, text = _type_and_definition(*inline)
        app.call(lambda store: store.validate_message(data, encoding, type=kind, definition=text))
    app.print_status("Message is valid.")


def _type_and_definition(
    type_: str | None, definition: str | None, definition_file: str | None
) -> tuple[SchemaType, str]:
    """Return the type and the definition of the options."""
    if type_ is None:
        raise click.UsageError(f"--type is needed: {', '.join(TYPES)}")
    if (definition is None) == (definition_file is None):
        raise click.UsageError("either --definition or --definition-file is needed")
    kind = SchemaType(type_.upper().replace("-", "_"))
    if definition_file is None:
        assert definition is not None
        return kind, definition
    try:
        with Path(definition_file).open("rb") as file:
            text = file.read(LARGEST_DEFINITION + 1)
        return kind, text.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"definition_file: {definition_file!r} cannot be read ({error}); a file of UTF-8 text "
            "is accepted"
        ) from None


def _revision(app: App, given: str) -> str:
    """Return the full name of a schema, or of a revision of it."""
    name, revision_id = revision_name(given, app.settings.project)
    return f"{name}@{revision_id}" if revision_id else str(name)
