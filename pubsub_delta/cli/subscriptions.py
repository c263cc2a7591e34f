"""``pubsub-delta subscriptions``: create, show, change and delete subscriptions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import click

from pubsub_delta.cli import partial_updates
from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import (
    SUBSCRIPTION,
    TOPIC,
    DurationType,
    Switch,
    exact_option,
    label_options,
    mutually_exclusive,
    pairs_option,
)
from pubsub_delta.cli.commands import Group
from pubsub_delta.cli.iam import binding_command
from pubsub_delta.cli.lazy_commands import LazyCommands
from pubsub_delta.cli.listing import list_all, listing_options
from pubsub_delta.cli.partial_updates import Part
from pubsub_delta.cli.push_options import push_fields, push_options
from pubsub_delta.cli.rest import metrics_record, subscription_record
from pubsub_delta.cli.table_options import table_fields, table_options
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    RetryPolicy,
    Subscription,
)

subscriptions = Group(
    "subscriptions",
    help="Create, show, pull from, seek and delete subscriptions.",
    examples=[
        "subscriptions create delays --topic=flights",
        "subscriptions pull delays --auto-ack --limit=10",
        "subscriptions watch delays",
    ],
    commands=LazyCommands(
        {
            "pull": "pull:pull",
            "ack": "delivery:ack",
            "modify-message-ack-deadline": "delivery:modify_message_ack_deadline",
            "seek": "delivery:seek",
            "backlog": "delivery:backlog",
            "watch": "watch:watch",
        }
    ),
)

UNCHANGED_OPTIONS = ("ack_deadline", "retain_acked_messages", "enable_exactly_once_delivery")
"""Options whose values are fields; only the first has another name."""


subscription_options = options(
    click.option("--ack-deadline", type=int, help="The length of a lease in seconds: 10 to 600."),
    click.option(
        "--message-retention-duration",
        type=DurationType("default"),
        help="How long a message is kept: 10m to 31d. Default: 7d.",
    ),
    click.option(
        "--retain-acked-messages",
        cls=Switch,
        help="Keep acknowledged messages, so that a seek can restore them.",
    ),
    click.option(
        "--expiration-period",
        type=DurationType("never"),
        help="The idle time after which it is deleted, or never. Default: 31d.",
    ),
    click.option("--enable-exactly-once-delivery", cls=Switch, help="Make successful acks final."),
    click.option(
        "--dead-letter-topic", type=TOPIC, help="The topic for messages that failed too often."
    ),
    click.option("--dead-letter-topic-project", help="The project of that topic."),
    click.option(
        "--max-delivery-attempts",
        type=int,
        help="The largest number of delivery attempts: 5 to 100.",
    ),
    click.option(
        "--min-retry-delay",
        type=DurationType(),
        help="How long a message waits after a failure; doubles each time. Default: 10s.",
    ),
    click.option("--max-retry-delay", type=DurationType(), help="The longest wait. Default: 600s."),
)
"""The options of both ``create`` and ``update``."""


@subscriptions.command(
    "create",
    examples=[
        "subscriptions create delays --topic=flights --ack-deadline=60",
        "subscriptions create late --topic=flights --message-filter='attributes.delay = \"7\"'",
        "subscriptions create audit --topic=flights --dead-letter-topic=failed "
        "--max-delivery-attempts=10",
        "subscriptions create hook --topic=flights --push-endpoint=https://example.com/push",
        "subscriptions create rows --topic=flights --table=shop.sales.flights --write-metadata",
    ],
)
@click.argument("subscription", nargs=-1, required=True)
@click.option(
    "--topic", type=TOPIC, help="The topic; it can be left out if the project has only one."
)
@click.option("--topic-project", help="The project of the topic.")
@subscription_options
@push_options
@table_options
@click.option("--message-filter", default="", help="The messages to deliver, by their attributes.")
@click.option("--enable-message-ordering", cls=Switch, help="Deliver a key's messages in order.")
@pairs_option("--labels", help="Labels of the new subscription.")
@click.pass_obj
def create(
    app: App,
    /,
    subscription: tuple[str, ...],
    topic: str | None,
    topic_project: str | None,
    message_filter: str,
    enable_message_ordering: bool | None,
    labels: dict[str, str],
    **given: Any,
) -> None:
    """Create subscriptions to the messages that are published from now on."""
    if _attempts_without_topic(given):
        raise click.UsageError("--max-delivery-attempts needs --dead-letter-topic")
    fields = {**_subscription_fields(app, given), **push_fields(given), **table_fields(given)}
    source = app.topic(topic, topic_project) if topic else _only_topic(app, topic_project)

    def one(short: str) -> Any:
        name = app.subscription(short)
        made = app.call(
            lambda store: store.create_subscription(
                name,
                source,
                filter=message_filter,
                enable_message_ordering=bool(enable_message_ordering),
                labels=labels,
                **fields,
            )
        )
        app.print_status(f"Created subscription [{made.name}].")
        return subscription_record(made)

    app.for_each(subscription, one)


@subscriptions.command(
    "update",
    examples=[
        "subscriptions update delays --no-retain-acked-messages --expiration-period=never",
        "subscriptions update delays --clear-dead-letter-policy --update-labels=env=test",
    ],
)
@click.argument("subscription", type=SUBSCRIPTION)
@subscription_options
@push_options
@table_options
@click.option("--clear-bigquery-config", is_flag=True, help="Stop writing to a table.")
@click.option(
    "--clear-dead-letter-policy",
    is_flag=True,
    help="Forward no dead letters, and count no attempts.",
)
@click.option("--clear-retry-policy", is_flag=True, help="Redeliver failed messages at once.")
@label_options
@click.pass_obj
def update(
    app: App,
    /,
    subscription: str,
    clear_bigquery_config: bool,
    clear_dead_letter_policy: bool,
    clear_retry_policy: bool,
    update_labels: dict[str, str],
    clear_labels: bool,
    remove_labels: list[str],
    **given: Any,
) -> None:
    """Change a subscription; fields without an option keep their values."""
    for name in ("dead_letter_topic", "max_delivery_attempts"):
        mutually_exclusive(**{name: given[name]}, clear_dead_letter_policy=clear_dead_letter_policy)
    for name in ("min_retry_delay", "max_retry_delay"):
        mutually_exclusive(**{name: given[name]}, clear_retry_policy=clear_retry_policy)
    fields, parts = partial_updates.label_changes(update_labels, remove_labels, clear=clear_labels)
    full = app.subscription(subscription)
    fields |= {**_subscription_fields(app, given), **push_fields(given)}
    fields |= table_fields(given, clear=clear_bigquery_config)
    if clear_dead_letter_policy:
        fields["dead_letter_policy"] = None
    if clear_retry_policy:
        fields["retry_policy"] = None
    if _attempts_without_topic(given):
        attempts = given["max_delivery_attempts"]
        parts["dead_letter_policy"] = Part(
            lambda stored: _with_attempts(stored, attempts), ["max_delivery_attempts"]
        )
    changed = partial_updates.update(
        app,
        fields,
        parts,
        lambda store: store.get_subscription(full),
        lambda store, given: store.update_subscription(full, **given),
    )
    app.print_status(f"Updated subscription [{full}].")
    app.show_changed([subscription_record(changed)])


@subscriptions.command(
    "modify-push-config",
    examples=[
        "subscriptions modify-push-config delays --push-endpoint=https://example.com/push",
        "subscriptions modify-push-config delays --push-endpoint=",
    ],
)
@click.argument("subscription", type=SUBSCRIPTION)
@push_options
@click.pass_obj
def modify_push_config(app: App, /, subscription: str, **given: Any) -> None:
    """Let a running server push the messages of a subscription, or let clients pull them again."""
    fields = push_fields(given)
    if not fields:
        raise click.UsageError("Missing option '--push-endpoint'.")
    name = app.subscription(subscription)
    app.call(lambda store: store.update_subscription(name, **fields))
    app.print_status(f"Updated subscription [{name}].")
    app.show({})  # gcloud prints the empty response of ModifyPushConfig


@subscriptions.command("describe", examples=["subscriptions describe delays"])
@click.argument("subscription", type=SUBSCRIPTION)
@click.pass_obj
def describe(app: App, subscription: str) -> None:
    """Show a subscription."""
    name = app.subscription(subscription)
    app.show(subscription_record(app.call(lambda store: store.get_subscription(name))))


@subscriptions.command("list", examples=["subscriptions list --format='table(name,topic)'"])
@listing_options
@click.pass_obj
def list_(app: App, limit: int | None) -> None:
    """List the subscriptions of the project."""
    found = list_all(app, lambda store, token: store.list_subscriptions(page_token=token), limit)
    app.show_all([subscription_record(each) for each in found])


@subscriptions.command("delete", examples=["subscriptions delete delays --quiet"])
@click.argument("subscription", type=SUBSCRIPTION, nargs=-1, required=True)
@click.pass_obj
def delete(app: App, subscription: tuple[str, ...]) -> None:
    """Delete subscriptions and their backlogs."""
    app.delete_each(
        "subscription",
        subscription,
        app.subscription,
        lambda store, name: store.delete_subscription(name),
    )


@subscriptions.command("metrics", examples=["subscriptions metrics delays --format=json"])
@click.argument("subscription", type=SUBSCRIPTION)
@exact_option
@click.pass_obj
def metrics(app: App, subscription: str, exact: bool) -> None:
    """Show a subscription's metrics, under Google's names."""
    name = app.subscription(subscription)
    app.show(app.call_store(lambda store: metrics_record(store.metrics(name, exact=exact))))


subscriptions.add_command(
    binding_command(
        "subscription",
        "roles/pubsub.subscriber",
        App.subscription,
        lambda store, name: store.get_subscription(name),
    )
)


def _subscription_fields(app: App, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the options name. As at Google, a policy is replaced as a whole."""
    fields = {name: given[name] for name in UNCHANGED_OPTIONS if given[name] is not None}
    if "ack_deadline" in fields:
        fields["ack_deadline_seconds"] = fields.pop("ack_deadline")
    kept: timedelta | str | None = given["message_retention_duration"]
    if kept is not None:
        fields["message_retention_duration"] = "7d" if kept == "default" else kept
    ttl = given["expiration_period"]
    if ttl is not None:
        fields["expiration_policy"] = ExpirationPolicy(ttl=None if ttl == "never" else ttl)
    if given["dead_letter_topic"] is not None:
        target = app.topic(given["dead_letter_topic"], given["dead_letter_topic_project"])
        attempts = given["max_delivery_attempts"]
        fields["dead_letter_policy"] = DeadLetterPolicy(target, 5 if attempts is None else attempts)
    elif given["dead_letter_topic_project"] is not None:
        raise click.UsageError("--dead-letter-topic-project needs --dead-letter-topic")
    backoff = {
        "minimum_backoff": given["min_retry_delay"],
        "maximum_backoff": given["max_retry_delay"],
    }
    if any(value is not None for value in backoff.values()):
        named = {name: value for name, value in backoff.items() if value is not None}
        fields["retry_policy"] = RetryPolicy(**named)
    return fields


def _attempts_without_topic(given: dict[str, Any]) -> bool:
    return given["max_delivery_attempts"] is not None and given["dead_letter_topic"] is None


def _with_attempts(stored: Subscription, attempts: int) -> DeadLetterPolicy:
    if stored.dead_letter_policy is None:
        raise click.UsageError("--max-delivery-attempts needs --dead-letter-topic")
    return replace(stored.dead_letter_policy, max_delivery_attempts=attempts)


def _only_topic(app: App, project: str | None) -> str:
    """Return the only topic of a project, as some of Google's examples leave it out."""
    project = project or app.settings.project
    found = list_all(app, lambda store, token: store.list_topics(project=project, page_token=token))
    if len(found) != 1:
        names = ", ".join(each.name for each in found[:5]) or "there is none yet"
        raise click.UsageError(
            f"Missing option '--topic'; it can be left out only if project {project!r} has "
            f"exactly one topic ({names})."
        )
    app.print_status(f"Topic [{found[0].name}], the only one of project [{project}].")
    return found[0].name
