"""``pubsub-delta snapshots``: the messages that were unacknowledged at a moment."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from pubsub_delta.cli import partial_updates
from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import (
    SNAPSHOT,
    SUBSCRIPTION,
    TimeType,
    exact_option,
    label_options,
    pairs_option,
)
from pubsub_delta.cli.commands import Group
from pubsub_delta.cli.listing import list_all, listing_options
from pubsub_delta.cli.rest import listed_snapshot_record, metrics_record, snapshot_record

LISTED = (
    "table[box](projectId:label=PROJECT,snapshotId:label=SNAPSHOT,topicId:label=TOPIC,"
    "expireTime:label=EXPIRE_TIME)"
)
"""What a listing shows, as gcloud's does."""

snapshots = Group(
    "snapshots",
    help="Create, show and delete snapshots of subscriptions.",
    examples=["snapshots create before-deploy --subscription=delays", "snapshots list"],
)


@snapshots.command("create", examples=["snapshots create before-deploy --subscription=delays"])
@click.argument("snapshot", nargs=-1, required=True)
@click.option(
    "--subscription",
    type=SUBSCRIPTION,
    required=True,
    help="The subscription whose unacknowledged messages to capture.",
)
@click.option("--subscription-project", help="The project of the subscription.")
@pairs_option("--labels", help="Labels of the new snapshot.")
@click.pass_obj
def create(
    app: App,
    snapshot: tuple[str, ...],
    subscription: str,
    subscription_project: str | None,
    labels: dict[str, str],
) -> None:
    """Capture the unacknowledged messages of a subscription."""
    source = app.subscription(subscription, subscription_project)

    def one(given: str) -> Any:
        name = app.snapshot(given)
        made = app.call(lambda store: store.create_snapshot(name, source, labels=labels))
        app.print_status(f"Created snapshot [{made.name}].")
        return snapshot_record(made)

    app.for_each(snapshot, one)


@snapshots.command("update", examples=["snapshots update before-deploy --expire-time=+p2d"])
@click.argument("snapshot", type=SNAPSHOT)
@click.option("--expire-time", type=TimeType(), help="The time at which the snapshot expires.")
@label_options
@click.pass_obj
def update(
    app: App,
    snapshot: str,
    expire_time: datetime | None,
    update_labels: dict[str, str],
    clear_labels: bool,
    remove_labels: list[str],
) -> None:
    """Change a snapshot's labels or its expire time."""
    fields, parts = partial_updates.label_changes(update_labels, remove_labels, clear=clear_labels)
    name = app.snapshot(snapshot)
    if expire_time is not None:
        fields["expire_time"] = expire_time
    changed = partial_updates.update(
        app,
        fields,
        parts,
        lambda store: store.get_snapshot(name),
        lambda store, given: store.update_snapshot(name, **given),
    )
    app.print_status(f"Updated snapshot [{name}].")
    app.show_changed([snapshot_record(changed)])


@snapshots.command("describe", examples=["snapshots describe before-deploy"])
@click.argument("snapshot", type=SNAPSHOT)
@click.pass_obj
def describe(app: App, snapshot: str) -> None:
    """Show a snapshot."""
    name = app.snapshot(snapshot)
    app.show(snapshot_record(app.call(lambda store: store.get_snapshot(name))))


@snapshots.command("list", examples=["snapshots list --format='table(name,expireTime)'"])
@listing_options
@click.pass_obj
def list_(app: App, limit: int | None) -> None:
    """List the snapshots of the project."""
    found = list_all(app, lambda store, token: store.list_snapshots(page_token=token), limit)
    app.show_all([listed_snapshot_record(each) for each in found], LISTED)


@snapshots.command("delete", examples=["snapshots delete before-deploy --quiet"])
@click.argument("snapshot", type=SNAPSHOT, nargs=-1, required=True)
@click.pass_obj
def delete(app: App, snapshot: tuple[str, ...]) -> None:
    """Delete snapshots, and the messages that only they held."""
    app.delete_each(
        "snapshot", snapshot, app.snapshot, lambda store, name: store.delete_snapshot(name)
    )


@snapshots.command("metrics", examples=["snapshots metrics before-deploy"])
@click.argument("snapshot", type=SNAPSHOT)
@exact_option
@click.pass_obj
def metrics(app: App, snapshot: str, exact: bool) -> None:
    """Show a snapshot's metrics, under Google's names."""
    name = app.snapshot(snapshot)
    app.show(app.call_store(lambda store: metrics_record(store.metrics(name, exact=exact))))
