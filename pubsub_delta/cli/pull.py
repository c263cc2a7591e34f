"""``pubsub-delta subscriptions pull``: prints or follows messages, or writes them to a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from pubsub_delta.cli.application import App, one_line
from pubsub_delta.cli.arguments import SUBSCRIPTION, DurationType, Switch
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.listing import selection_options
from pubsub_delta.cli.message_files import check_path, message_file
from pubsub_delta.cli.printing import RecordStream
from pubsub_delta.cli.progress import describe
from pubsub_delta.cli.rest import Record, received_record
from pubsub_delta.cli.service import Batch, Service
from pubsub_delta.cli.signals import EndingSignals
from pubsub_delta.cli.standard_streams import check_reader
from pubsub_delta.errors import InvalidArgument, counted
from pubsub_delta.policy.fields import MAX_ACK_DEADLINE_SECONDS
from pubsub_delta.resources import ReceivedMessage

MESSAGE_COLUMNS = (
    "message.data.decode(base64).decode(utf-8),message.messageId,message.orderingKey,"
    "message.attributes.list(separator='\n'),deliveryAttempt"
)
PULL_FORMAT = f"table[box]({MESSAGE_COLUMNS},ackId.if(NOT auto_ack),ackStatus.if(auto_ack))"
FOLLOW_FORMAT = "value(message.publishTime,message.data.decode(base64))"

BATCH_SIZE = 1000
"""Messages of one pull by --follow, or of one request to a server."""
FILE_BATCH_SIZE = 10_000
"""Messages of one pull from a store for a file."""
SHORTEST, LONGEST = 0.05, 1.0
"""Seconds between two pulls while there are no messages."""
EXTEND_AFTER = timedelta(seconds=MAX_ACK_DEADLINE_SECONDS / 2)
"""Leases are extended when writing a file has taken this long."""


class _Wait(Switch):
    """``--wait``, ``--wait=DURATION`` or ``--no-wait``."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.type = DurationType("true", "false")

    def get_help_record(self, _ctx: click.Context) -> tuple[str, str]:
        return "--[no-]wait[=DURATION]", self.help or ""


@click.command(
    "pull",
    cls=Command,
    examples=[
        "subscriptions pull delays --limit=10",
        "subscriptions pull delays --auto-ack --format='value(message.data.decode(base64))'",
        "subscriptions pull delays --wait=30s --limit=10",
        "subscriptions pull delays --follow",
        "subscriptions pull delays --output=delays.parquet --auto-ack",
    ],
)
@click.argument("subscription", type=SUBSCRIPTION)
@click.option(
    "--auto-ack",
    cls=Switch,
    help="Acknowledge the messages that are printed, or written to the file.",
)
@click.option(
    "--limit",
    type=int,
    help="The largest number of messages. Default: 1; with --follow or --output, all.",
)
@click.option(
    "--wait", cls=_Wait, help="Wait for the first message, for this long, or until Ctrl+C."
)
@click.option(
    "--follow",
    cls=Switch,
    help="Print and acknowledge messages as they come, until Ctrl+C or the limit.",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A new file for the messages: .jsonl, .csv or .parquet.",
)
@selection_options
@click.pass_obj
def pull(
    app: App,
    subscription: str,
    auto_ack: bool | None,
    limit: int | None,
    wait: Any,
    follow: bool | None,
    output: Path | None,
) -> None:
    """Lease messages and print them; those that are not acknowledged are delivered again.

    With --auto-ack they are acknowledged once they are printed. If the format shows ackStatus, as
    the table does, they are acknowledged before: SUCCESS means that a message is not delivered
    again.

    With --output they go to a file, and --auto-ack acknowledges them once the whole file is on the
    disk. --follow acknowledges the messages that it prints; at Ctrl+C the others are available
    again at once.
    """
    name = app.subscription(subscription)
    _check(app, auto_ack, limit, follow=bool(follow), output=output)
    puller = _Puller(app, name, _longest(wait))
    most = 1 if limit is None else limit
    with puller.signals.handled(), puller.released_on_error():
        if output is not None:
            _to_file(puller, output, limit, auto_ack=bool(auto_ack))
        elif follow:
            _follow(puller, limit)
        elif auto_ack:
            _print_and_ack(puller, most)
        else:
            _print(puller, most)


def _check(
    app: App, auto_ack: bool | None, limit: int | None, *, follow: bool, output: Path | None
) -> None:
    if follow and output is not None:
        raise click.UsageError("--follow and --output exclude each other; one of them is accepted")
    if follow and auto_ack is False:
        raise click.UsageError("--follow acknowledges messages; use backlog to only see them")
    if output is not None:
        if app.global_options.get("format"):
            raise click.UsageError("--format: with --output the ending of the file chooses it")
        check_path(output)
    if (follow or output is not None) and app.selection_options:
        wording = " and ".join(
            f"--{each.replace('_', '-')}" for each in sorted(app.selection_options)
        )
        raise click.UsageError(f"{wording} is not accepted with --follow or --output")
    if (follow or output is not None) and limit is not None and limit < 1:
        raise click.UsageError(f"--limit: {limit}; 1 or more is accepted")


def _longest(wait: Any) -> timedelta | None:
    """Return the longest wait for the first message; None without a limit."""
    if wait in (None, "false"):
        return timedelta(0)
    return None if wait == "true" else wait


@dataclass(frozen=True)
class _Puller:
    """Pulls messages from a subscription.

    ``wait``: the longest wait for the first message; None without a limit. ``held``: the batches
    that are leased, and neither acknowledged nor given back.
    """

    app: App
    name: str
    wait: timedelta | None
    signals: EndingSignals = field(default_factory=EndingSignals)
    held: list[Batch] = field(default_factory=list)

    def batch(self, store: Service, most: int, ack_deadline: int | None = None) -> Batch:
        """Pull messages, and wait for the first one. ``ack_deadline``: another one, in seconds."""
        begun, pause = self.app.read_time("now"), SHORTEST
        while True:
            with self.signals.put_off():
                batch = store.pull(self.name, most)
                if batch.message_count:
                    self.held.append(batch)
                if batch.message_count and ack_deadline is not None:
                    batch.modify_ack_deadline(ack_deadline)
            if batch.message_count or self._is_over(begun):
                return batch
            describe(f"Waiting for messages of {self.name}")
            check_reader()
            self.app.pause(pause)
            pause = min(2 * pause, LONGEST)

    def with_long_lease(self, store: Service, most: int) -> Batch:
        """Pull messages with the longest ack deadline, for printing."""
        return self.batch(store, most, MAX_ACK_DEADLINE_SECONDS)

    def acknowledge(self, store: Service) -> set[str]:
        """Acknowledge what is held; return the ack IDs of messages that come again."""
        failed = set()
        while self.held:
            failed |= _not_acked(store, self.name, self.held[0])
            del self.held[0]
        return failed

    def give_back(self, _: Service) -> None:
        """Give back what is held, so that its messages come again at once."""
        while self.held:
            self.held[0].give_back()
            del self.held[0]

    @contextmanager
    def released_on_error(self) -> Iterator[None]:
        """Give back what is held after an error, as far as that can be done."""
        try:
            yield
        except BaseException:
            with self.signals.put_off():
                while self.held:
                    with suppress(Exception):
                        self.held.pop().give_back()
            raise

    def _is_over(self, begun: datetime) -> bool:
        return self.wait is not None and self.app.read_time("now") - begun >= self.wait


def _records(batch: Batch) -> list[Record]:
    """Read a batch, and show the progress."""
    records = []
    for each in batch:
        records.append(received_record(each))
        if not len(records) % BATCH_SIZE:
            describe(f"Reading messages: {len(records):,}")
    return records


def _print(puller: _Puller, limit: int) -> None:
    """Pull messages, and print them with their ack IDs: whoever sees these has the messages."""
    app = puller.app
    records = app.call(lambda store: _records(puller.batch(store, limit)))
    app.check_all(records, PULL_FORMAT)
    check_reader()
    try:
        app.show_all(records, PULL_FORMAT)
    except (BrokenPipeError, KeyboardInterrupt):
        puller.held.clear()  # the beginning may have been seen
        raise
    puller.held.clear()


def _print_and_ack(puller: _Puller, limit: int) -> None:
    """Pull messages, print them, and acknowledge them."""
    app = puller.app
    form = app.format(PULL_FORMAT)
    named = any(each.key == ("ackStatus",) for each in form.columns)
    shows_status = not form.columns or named or "ackStatus" in app.selection.filter

    records = app.call(lambda store: _records(puller.with_long_lease(store, limit)))
    if not shows_status:
        app.show_all(records, PULL_FORMAT)
        with puller.signals.put_off():
            failed = app.call(puller.acknowledge)
        fail_on_ack_ids(app, "ack", sorted(failed))
        return
    check_reader()
    app.check_all([{**each, "ackStatus": "SUCCESS"} for each in records], PULL_FORMAT)
    with puller.signals.put_off():  # what is acknowledged is printed, too
        failed = app.call(puller.acknowledge)
        for each in records:
            each["ackStatus"] = "FAILURE" if each.get("ackId") in failed else "SUCCESS"
        app.show_all(records, PULL_FORMAT)


def _follow(puller: _Puller, limit: int | None) -> None:
    """Print messages as they come until Ctrl+C, and acknowledge each batch after printing."""
    app, acked, failed = puller.app, 0, list[str]()
    forever = replace(puller, wait=None)
    written = RecordStream(lambda: app.format(FOLLOW_FORMAT))
    with suppress(KeyboardInterrupt), puller.released_on_error():
        while limit is None or acked < limit:
            most = BATCH_SIZE if limit is None else min(BATCH_SIZE, limit - acked)
            batch = forever.with_long_lease(app.service, most)
            records = [received_record(each) for each in batch]
            app.print(written.text(records))
            with puller.signals.put_off():
                failed += puller.acknowledge(app.service)
                acked += len(records)
    fail_on_ack_ids(app, "ack", sorted(failed))
    app.print_status(f"Printed and acknowledged {counted(acked, 'message')}.")


def _to_file(puller: _Puller, path: Path, limit: int | None, *, auto_ack: bool) -> None:
    """Write messages to a new file; then acknowledge them, or give them back."""
    app = puller.app

    def bring(store: Service) -> int:
        count = 0
        with message_file(path) as file:
            for messages in _batches(puller, store, limit):
                file.write(messages)
                count += len(messages)
                describe(f"Pulling messages: {count:,}")
            if not count:
                raise _NoMessages
        return count

    try:
        count = app.call(bring)
    except _NoMessages:
        app.print_status(f"There are no messages, and {path} is not written.")
        return
    app.print_status(f"Wrote {counted(count, 'message')} to [{path}].")
    if auto_ack:
        with puller.signals.put_off():
            failed = app.call(puller.acknowledge)
        fail_on_ack_ids(app, "ack", sorted(failed))
        app.print_status(f"Acknowledged {counted(count, 'message')}.")
    else:
        app.call(puller.give_back)
        app.print_status("They come again: --auto-ack acknowledges what is in the file.")


class _NoMessages(Exception):
    """The subscription has no messages."""


def _batches(puller: _Puller, store: Service, limit: int | None) -> Iterator[list[ReceivedMessage]]:
    """Pull all messages in batches, and extend the leases of all batches."""
    most = FILE_BATCH_SIZE if puller.app.settings.endpoint is None else BATCH_SIZE
    count, extended = 0, puller.app.read_time("now")
    while limit is None or count < limit:
        wanted = most if limit is None else min(most, limit - count)
        batch = puller.with_long_lease(store, wanted)
        messages = list(batch)
        if not messages:
            return
        yield messages
        count += len(messages)
        puller = replace(puller, wait=timedelta(0))
        if puller.app.read_time("now") - extended >= EXTEND_AFTER:
            for each in puller.held:
                each.modify_ack_deadline(MAX_ACK_DEADLINE_SECONDS)
            extended = puller.app.read_time("now")


def _not_acked(store: Service, name: str, batch: Batch) -> set[str]:
    """Acknowledge a batch; return the ack IDs of messages that come again.

    A late ack is ``expired`` whether it had an effect or not. A second ack succeeds if it had.
    """
    result = batch.ack()
    late = list(result.expired)
    counted = store.acknowledge(name, late).success if late else ()
    return {*result.invalid, *late}.difference(counted)


def fail_on_ack_ids(app: App, what: str, ack_ids: Sequence[str]) -> None:
    """Raise InvalidArgument if some ack IDs had no effect, and print them."""
    if ack_ids:
        wording = one_line(",".join(ack_ids))
        app.print_status(f"Failed to {what} the messages with the following ackIds: [{wording}]")
        count = counted(len(ack_ids), "message")
        raise InvalidArgument(
            f"ack_ids: failed to {what} {count}; ack ids of live leases of this subscription are "
            "accepted"
        )
