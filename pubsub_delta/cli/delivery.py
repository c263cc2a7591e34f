"""``pubsub-delta subscriptions``: pull, answer, look ahead and seek."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from pubsub_delta.cli.application import App, one_line
from pubsub_delta.cli.arguments import SNAPSHOT, SUBSCRIPTION, Switch, TimeType, list_option
from pubsub_delta.cli.commands import Verb
from pubsub_delta.cli.listing import selection_options
from pubsub_delta.cli.rest import Record, message_record, received_record
from pubsub_delta.cli.service import Batch, Service
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.fields import MAX_ACK_DEADLINE_SECONDS
from pubsub_delta.policy.messages import MAX_MESSAGE_BYTES
from pubsub_delta.resources import Message

if TYPE_CHECKING:  # a command that asks a server does without it
    from pubsub_delta.client import PubSub

pass_app = click.make_pass_decorator(App)

_MESSAGE = (
    "message.data.decode(base64).decode(utf-8),message.messageId,message.orderingKey,"
    "message.attributes.list(separator='\n'),deliveryAttempt"
)
PULLED = f"table[box]({_MESSAGE},ackId.if(NOT auto_ack),ackStatus.if(auto_ack))"
BACKLOG = f"table[box]({_MESSAGE},state)"


@click.command(
    "pull",
    cls=Verb,
    examples=[
        "subscriptions pull delays --limit=10",
        "subscriptions pull delays --auto-ack --format='value(message.data.decode(base64))'",
    ],
)
@click.argument("subscription", type=SUBSCRIPTION)
@click.option("--auto-ack", cls=Switch, help="Acknowledge what is pulled.")
@click.option("--limit", type=int, default=1, show_default=True, help="At most so many messages.")
@selection_options
@pass_app
def pull(app: App, subscription: str, auto_ack: bool | None, limit: int) -> None:
    """Lease messages and print them; those that are not acknowledged come again.

    With --auto-ack they are acknowledged once they are printed. Where the format shows ackStatus,
    as the table does, that is before it: SUCCESS tells that a message does not come again.
    """
    name = app.subscription(subscription)
    if auto_ack:
        _pull_and_ack(app, name, limit)
        return
    pulled = app.call(lambda store: [received_record(each) for each in store.pull(name, limit)])
    app.show_all(pulled, PULLED)


def _pull_and_ack(app: App, name: str, limit: int) -> None:
    """Lease messages for as long as it may take, print them, and acknowledge them."""
    form = app.format(PULLED)
    named = any(each.key == ("ackStatus",) for each in form.columns)
    shows_status = not form.columns or named or "ackStatus" in app.selection.filter

    def take(store: Service) -> tuple[Batch, list[Record]]:
        batch = store.pull(name, limit)
        batch.modify_ack_deadline(MAX_ACK_DEADLINE_SECONDS)
        with _given_back_on_error(batch):
            return batch, [received_record(each) for each in batch]

    batch, records = app.call(take)
    if not shows_status:
        with _given_back_on_error(batch):
            app.show_all(records, PULLED)
    failed = app.call(lambda store: _not_acknowledged(store, name, batch)) if records else set()
    if shows_status:
        for each in records:
            each["ackStatus"] = "FAILURE" if each["ackId"] in failed else "SUCCESS"
        app.show_all(records, PULLED)
    else:
        _fail_if(app, "ack", sorted(failed))


@contextmanager
def _given_back_on_error(batch: Batch) -> Iterator[None]:
    """Let messages that could not be shown come again at once, and not when the lease is over."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            batch.modify_ack_deadline(0)
        raise


def _not_acknowledged(store: Service, name: str, batch: Batch) -> set[str]:
    """Acknowledge a batch; return the ack ids of messages that come again all the same.

    A late ack is ``expired`` whether it counted or not. Said again it is a success if it did.
    """
    result = batch.ack()
    late = list(result.expired)
    counted = store.acknowledge(name, late).success if late else ()
    return {*result.invalid, *late}.difference(counted)


_ack_ids = list_option("--ack-ids", help="Ack ids, as pull prints them.", required=True)


@click.command("ack", cls=Verb, examples=["subscriptions ack delays --ack-ids=ID1,ID2"])
@click.argument("subscription", type=SUBSCRIPTION)
@_ack_ids
@pass_app
def ack(app: App, subscription: str, ack_ids: list[str]) -> None:
    """Acknowledge deliveries, so that their messages do not come again."""
    name = app.subscription(subscription)
    result = app.call(lambda store: store.acknowledge(name, ack_ids))
    if result.success:
        told = ",".join(result.success)
        app.tell(f"Acked the messages with the following ackIds: [{told}]")
    if result.expired:
        app.warn(
            f"The lease of these ackIds was over: [{','.join(result.expired)}]; "
            "their messages are acked unless they were leased again"
        )
    _fail_if(app, "ack", result.invalid)


@click.command(
    "modify-message-ack-deadline",
    cls=Verb,
    examples=["subscriptions modify-message-ack-deadline delays --ack-ids=ID1 --ack-deadline=60"],
)
@click.argument("subscription", type=SUBSCRIPTION)
@_ack_ids
@click.option(
    "--ack-deadline", type=int, required=True, help="Seconds from now: 1 to 600; 0 is a nack."
)
@pass_app
def modify_message_ack_deadline(
    app: App, subscription: str, ack_ids: list[str], ack_deadline: int
) -> None:
    """Move the deadline of deliveries, or give their messages back with 0."""
    name = app.subscription(subscription)
    result = app.call(lambda store: store.modify_ack_deadline(name, ack_ids, ack_deadline))
    if result.success:
        told = ",".join(result.success)
        app.tell(f"Set ackDeadlineSeconds to [{ack_deadline}] for messages with ackId [{told}].")
    _fail_if(app, "modify", [*result.expired, *result.invalid])


@click.command(
    "seek",
    cls=Verb,
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
    help="What was published before it is acknowledged, the rest is not: RFC 3339, a date, -p1d.",
)
@click.option("--snapshot", type=SNAPSHOT, help="What it holds becomes unacknowledged.")
@click.option("--snapshot-project", help="The project of the snapshot.")
@pass_app
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


@click.command("backlog", cls=Verb, examples=["subscriptions backlog delays --limit=20"])
@click.argument("subscription", type=SUBSCRIPTION)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many."
)
@selection_options
@pass_app
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


message_commands = (pull, ack, modify_message_ack_deadline, seek, backlog)


def _fail_if(app: App, what: str, ack_ids: Sequence[str]) -> None:
    """End with exit code 1 if some ack ids had no effect, and name them."""
    if ack_ids:
        told = one_line(",".join(ack_ids))
        app.tell(f"Failed to {what} the messages with the following ackIds: [{told}]")
        raise InvalidArgument(
            f"ack_ids: failed to {what} {len(ack_ids):,} messages; ack ids of live leases of this "
            "subscription are accepted"
        )
