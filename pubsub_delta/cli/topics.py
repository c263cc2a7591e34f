"""``pubsub-delta topics``: the logs that messages are published to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from pubsub_delta.cli import partial_updates
from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import (
    SUBSCRIPTION,
    TOPIC,
    DurationType,
    exact_option,
    label_options,
    mutually_exclusive,
    pairs_option,
)
from pubsub_delta.cli.commands import Group
from pubsub_delta.cli.iam import binding_command
from pubsub_delta.cli.listing import list_all, listing_options, selection_options
from pubsub_delta.cli.partial_updates import Part
from pubsub_delta.cli.publish import publish
from pubsub_delta.cli.rest import commit_record, metrics_record, topic_record
from pubsub_delta.cli.schema_options import schema_options, schema_settings

_SUBFIELDS = {
    "message_encoding": "encoding",
    "first_revision_id": "first_revision_id",
    "last_revision_id": "last_revision_id",
}
"""The subfields of the schema settings that options change, by option."""

topics = Group(
    "topics",
    help="Create, show, publish to and delete topics.",
    examples=["topics create flights", "topics publish flights --message=late", "topics list"],
)

_retention = click.option(
    "--message-retention-duration",
    type=DurationType(),
    help="How long the topic keeps every message, so that subscriptions can seek back: 10m to 31d.",
)


@topics.command(
    "create",
    examples=[
        "topics create flights --message-retention-duration=7d",
        "topics create us-states --schema=states --message-encoding=json",
    ],
)
@click.argument("topic", nargs=-1, required=True)
@_retention
@pairs_option("--labels", help="Labels of the new topic.")
@schema_options
@click.pass_obj
def create(
    app: App,
    /,
    topic: tuple[str, ...],
    message_retention_duration: timedelta | None,
    labels: dict[str, str],
    **schema: str | None,
) -> None:
    """Create one topic or several."""
    settings = schema_settings(app, None, **schema)

    def one(given: str) -> Any:
        name = app.topic(given)
        made = app.call(
            lambda store: store.create_topic(
                name,
                message_retention_duration=message_retention_duration,
                labels=labels,
                schema_settings=settings,
            )
        )
        app.print_status(f"Created topic [{made.name}].")
        return topic_record(made)

    app.for_each(topic, one)


@topics.command(
    "update",
    examples=[
        "topics update flights --message-retention-duration=1d",
        "topics update flights --clear-message-retention-duration --update-labels=env=test",
        "topics update us-states --schema=states --message-encoding=json "
        "--first-revision-id=0a0b0c0d",
    ],
)
@click.argument("topic", type=TOPIC)
@_retention
@click.option(
    "--clear-message-retention-duration", is_flag=True, help="Keep no messages for seeks."
)
@label_options
@schema_options
@click.option("--clear-schema-settings", is_flag=True, help="Accept any data.")
@click.pass_obj
def update(
    app: App,
    /,
    topic: str,
    message_retention_duration: timedelta | None,
    clear_message_retention_duration: bool,
    update_labels: dict[str, str],
    clear_labels: bool,
    remove_labels: list[str],
    clear_schema_settings: bool,
    **schema: str | None,
) -> None:
    """Change a topic's retention, labels or schema."""
    given = {name: value for name, value in schema.items() if value is not None}
    mutually_exclusive(clear_schema_settings=clear_schema_settings, **dict(list(given.items())[:1]))
    mutually_exclusive(
        message_retention_duration=message_retention_duration,
        clear_message_retention_duration=clear_message_retention_duration,
    )
    fields, parts = partial_updates.label_changes(update_labels, remove_labels, clear=clear_labels)
    name = app.topic(topic)
    if message_retention_duration is not None or clear_message_retention_duration:
        fields["message_retention_duration"] = message_retention_duration
    if clear_schema_settings:
        fields["schema_settings"] = None
    elif "schema" in given:
        fields["schema_settings"] = schema_settings(app, None, **schema)
    elif given:
        parts["schema_settings"] = Part(
            lambda stored: schema_settings(app, stored.schema_settings, **schema),
            [_SUBFIELDS[name] for name in given if name in _SUBFIELDS],
        )
    changed = partial_updates.update(
        app,
        fields,
        parts,
        lambda store: store.get_topic(name),
        lambda store, given: store.update_topic(name, **given),
    )
    app.print_status(f"Updated topic [{name}].")
    app.show_changed([topic_record(changed)])


@topics.command("describe", examples=["topics describe flights --format=json"])
@click.argument("topic", type=TOPIC)
@click.pass_obj
def describe(app: App, topic: str) -> None:
    """Show a topic."""
    name = app.topic(topic)
    app.show(topic_record(app.call(lambda store: store.get_topic(name))))


@topics.command("list", examples=["topics list --format='value(name)'"])
@listing_options
@click.pass_obj
def list_(app: App, limit: int | None) -> None:
    """List the topics of the project."""
    found = list_all(app, lambda store, token: store.list_topics(page_token=token), limit)
    app.show_all([topic_record(each) for each in found])


@topics.command("delete", examples=["topics delete flights delays --quiet"])
@click.argument("topic", type=TOPIC, nargs=-1, required=True)
@click.pass_obj
def delete(app: App, topic: tuple[str, ...]) -> None:
    """Delete topics; their subscriptions keep their backlog."""
    app.delete_each("topic", topic, app.topic, lambda store, name: store.delete_topic(name))


@topics.command("list-subscriptions", examples=["topics list-subscriptions flights"])
@click.argument("topic", type=TOPIC)
@listing_options
@click.pass_obj
def list_subscriptions(app: App, topic: str, limit: int | None) -> None:
    """List the subscriptions attached to a topic."""
    name = app.topic(topic)
    app.show_all(
        list_all(
            app,
            lambda store, token: store.list_topic_subscriptions(name, page_token=token),
            limit,
        )
    )


@topics.command("list-snapshots", examples=["topics list-snapshots flights"])
@click.argument("topic", type=TOPIC)
@listing_options
@click.pass_obj
def list_snapshots(app: App, topic: str, limit: int | None) -> None:
    """List the snapshots of a topic."""
    name = app.topic(topic)
    app.show_all(
        list_all(
            app, lambda store, token: store.list_topic_snapshots(name, page_token=token), limit
        )
    )


@topics.command("detach-subscription", examples=["topics detach-subscription delays"])
@click.argument("subscription", type=SUBSCRIPTION, nargs=-1, required=True)
@click.pass_obj
def detach_subscription(app: App, subscription: tuple[str, ...]) -> None:
    """Detach subscriptions for good; their backlogs are dropped."""

    def one(given: str) -> None:
        name = app.subscription(given)
        app.call(lambda store: store.detach_subscription(name))
        app.print_status(f"Detached subscription [{name}].")

    app.for_each(subscription, one)


@topics.command("metrics", examples=["topics metrics flights --format=json"])
@click.argument("topic", type=TOPIC)
@exact_option
@click.pass_obj
def metrics(app: App, topic: str, exact: bool) -> None:
    """Show a topic's metrics, under Google's names."""
    name = app.topic(topic)
    app.show(app.call_store(lambda store: metrics_record(store.metrics(name, exact=exact))))


HISTORY = "table(version,time,operation,messageCount:label=MESSAGES,publishId)"


@topics.command(
    "history", examples=["topics history flights --limit=5", "topics history flights --format=csv"]
)
@click.argument("topic", type=TOPIC)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The largest number of commits.",
)
@selection_options
@click.pass_obj
def history(app: App, topic: str, limit: int) -> None:
    """List a topic's commits, newest first: publishes, deletes and maintenance.

    The time of a publish is its publish time; that of another commit is Delta's. The publish id
    of a publish with an idempotency id is that id, as application:version.
    """
    name = app.topic(topic)
    found = app.call_store(lambda store: store.topic_history(name, limit))
    app.show_all([commit_record(each) for each in found], HISTORY)


topics.add_command(publish)
topics.add_command(
    binding_command("topic", "roles/pubsub.publisher", App.topic, lambda s, n: s.get_topic(n))
)
