"""``pubsub-delta subscriptions``: ack, modify-message-ack-deadline, seek and backlog."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import SNAPSHOT, SUBSCRIPTION, TimeType, list_option
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.listing import selection_options
from pubsub_delta.cli.pull import MESSAGE_COLUMNS, fail_on_ack_ids
from pubsub_delta.cli.rest import Record, message_record
from pubsub_delta.policy.messages import MAX_MESSAGE_BYTES
from pubsub_delta.resources import Message

if TYPE_CHECKING:  # commands with --endpoint do not import it
    from pubsub_delta.client import PubSub

BACKLOG = f"table[box]({MESSAGE_COLUMNS},state)"


_ack_ids = list_option("--ack-ids", help="Ack ids, as pull prints them.", required=True)


@click.command("ack", cls=Command, examples=["subscriptions ack delays --ack-ids=ID1,ID2"])
@click.argument("subscription", type=SUBSCRIPTION)
@_ack_ids
@click.pass_obj
def ack(app: App, subscription: str, ack_ids: list[str]) -> None:
    """Acknowledge deliveries, so that their messages do not come again."""
    name = app.subscription(subscription)
    result = app.call(lambda store: store.acknowledge(name, ack_ids))
    if result.success:
        succeeded = ",".join(result.success)
        app.print_status(f"Acked the messages with the following ackIds: [{succeeded}]")
    if result.expired:
        app.warn(
            f"The lease of these ackIds was over: [{','.join(result.expired)}]; "
            "their messages are acked unless they were leased again"
        )
    fail_on_ack_ids(app, "ack", result.invalid)
    app.show({})  # gcloud prints the empty response of Acknowledge


@click.command(
    "modify-message-ack-deadline",
    cls=Command,
    examples=["subscriptions modify-message-ack-deadline delays --ack-ids=ID1 --ack-deadline=60"],
)
@click.argument("subscription", type=SUBSCRIPTION)
@_ack_ids
@click.option(
    "--ack-deadline", type=int, required=True, help="Seconds from now: 1 to 600; 0 is a nack."
)
@click.pass_obj
def modify_message_ack_deadline(
    app: App, subscription: str, ack_ids: list[str], ack_deadline: int
) -> None:
    """Move the deadline of deliveries, or give their messages back with 0."""
    name = app.subscription(subscription)
    result = app.call(lambda store: store.modify_ack_deadline(name, ack_ids, ack_deadline))
    if result.success:
        succeeded = ",".join(result.success)
        app.print_status(
            f"Set ackDeadlineSeconds to [{ack_deadline}] for messages with ackId [{succeeded}]."
        )
    fail_on_ack_ids(app, "modify", [*result.expired, *result.invalid])
    app.show({})  # gcloud prints the empty response


@click.command(
    "seek",
    cls=Command,
    examples=[
        "subscriptions seek delays --time=-p1d",
        "subscriptions seek delays --time=2026-11-20T10:00:00Z",
        "subscriptions seek delays --snapshot=before-deploy",
    ],
)
@click.argument("subscription", type=SUBSCRIPTION)
@click.option(
    "--time",
    type=TimeType(),
    help=(
        "Acknowledge messages published before this time, and un-acknowledge later ones: RFC "
        "3339, a date, -p1d."
    ),
)
@click.option(
    "--snapshot", type=SNAPSHOT, help="Make exactly the messages of this snapshot unacknowledged."
)
@click.option("--snapshot-project", help="The project of the snapshot.")
@click.pass_obj
def seek(
    app: App,
    subscription: str,
    time: datetime | None,
    snapshot: str | None,
    snapshot_project: str | None,
) -> None:
    """Acknowledge and un-acknowledge messages in bulk, to a time or a snapshot."""
    if (time is None) == (snapshot is None):
        raise click.UsageError("exactly one of --time and --snapshot is accepted")
    name = app.subscription(subscription)
    sought: dict[str, Any] = {"subscriptionId": name}
    if snapshot is not None:
        sought["snapshotId"] = app.snapshot(snapshot, snapshot_project)
        app.call(lambda store: store.seek(name, snapshot=sought["snapshotId"]))
    elif time is not None:
        digits = time.replace(tzinfo=None).isoformat(timespec="microseconds")
        sought["time"] = f"{digits}Z"  # all of them, as gcloud writes it
        app.call(lambda store: store.seek(name, time=time))
    app.show(sought)


@click.command("backlog", cls=Command, examples=["subscriptions backlog delays --limit=20"])
@click.argument("subscription", type=SUBSCRIPTION)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The largest number of messages.",
)
@selection_options
@click.pass_obj
def backlog(app: App, subscription: str, limit: int) -> None:
    """Show unacknowledged messages, oldest first, without leasing them."""
    name = app.subscription(subscription)
    app.show_all(app.call_store(lambda store: _oldest(store, name, limit)), BACKLOG)


def _oldest(store: PubSub, name: str, limit: int) -> list[Record]:
    records = []
    for found in store.peek(name, limit, max_bytes=MAX_MESSAGE_BYTES):
        message = Message(found.data, found.attributes, found.ordering_key)
        record: Record = {
            "message": message_record(message, found.message_id, found.publish_time),
            "state": found.state,
        }
        if found.delivery_attempt is not None:
            record["deliveryAttempt"] = found.delivery_attempt
        records.append(record)
    return records
