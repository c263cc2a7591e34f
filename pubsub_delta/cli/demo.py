"""``pubsub-delta demo``: creates a store with flights, to try commands on."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pubsub_delta.cli import colors
from pubsub_delta.cli.application import App
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.settings import Settings
from pubsub_delta.errors import AlreadyExists
from pubsub_delta.resources import DeadLetterPolicy, Message
from pubsub_delta.tables.layout import layout_of

if TYPE_CHECKING:
    from pubsub_delta.client import PubSub

FLIGHTS = 1000
BATCH = 250
CARRIERS = ("UA", "B6", "EV", "DL", "AA", "MQ", "US", "WN")
AIRPORTS = ("EWR", "JFK", "LGA")

TO_TRY = (
    ("topics list", "what there is"),
    ("subscriptions pull delays --limit=3", "lease messages; they come again"),
    ("subscriptions pull delays --limit=3 --auto-ack", "take them for good"),
    ("subscriptions pull united --follow", "print what comes, until Ctrl+C"),
    ("topics publish flights --message=late --attribute=carrier=UA", "publish one"),
    ("subscriptions seek delays --snapshot=before-lunch", "bring back what was unacknowledged"),
    ("subscriptions watch delays", "backlog and leases as they change"),
    ("doctor", "whether all is well"),
)
"""Commands on the demo's store, and what each shows."""


@click.command("demo", cls=Command, examples=["demo", "demo /tmp/flights"])
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), required=False)
@click.pass_obj
def demo(app: App, directory: Path | None) -> None:
    """Create a store with example data in a new directory, and print commands to try on it.

    The directory is DIRECTORY, else that of --root, else ./pubsub-demo. It takes some seconds, and
    needs neither Spark nor Java. To remove the store, delete the directory.
    """
    directory = directory or _directory_of_option(app) or Path("pubsub-demo")
    if directory.is_dir() and any(directory.iterdir()):
        raise AlreadyExists(
            f"directory: {directory} is not empty; `pubsub-delta demo DIRECTORY` makes the store "
            "elsewhere"
        )
    root = str(directory.resolve())
    store = app.opened(Settings(root=root, project=app.settings.project))
    for status in fill(store):
        app.print_status(status)
    app.print_styled(_advice(app, directory))


def _directory_of_option(app: App) -> Path | None:
    """Return the directory of --root; None without it. A root of the environment does not count."""
    root = app.settings.root  # with a home directory for ~
    if root is None or "root" not in app.global_options:
        return None
    local = layout_of(root).local_directory()
    if local is None:
        raise click.UsageError(
            f"--root: {root!r} is not a directory on this machine; a new directory, such as "
            "./flights, is accepted"
        )
    return Path(local)


def fill(store: PubSub) -> Iterator[str]:
    """Publish flights, consume some of them, and yield lines about it."""
    for name in ("flights", "failed"):
        store.create_topic(name, message_retention_duration="7d")
    store.create_subscription(
        "delays",
        "flights",
        dead_letter_policy=DeadLetterPolicy("failed"),
        retain_acked_messages=True,
    )
    store.create_subscription("united", "flights", filter='attributes.carrier = "UA"')
    yield "Topics flights and failed, subscriptions delays and united (only carrier UA)."
    for begin in range(0, FLIGHTS, BATCH):
        store.publish("flights", [flight(n) for n in range(begin, begin + BATCH)])
    yield f"Published {FLIGHTS:,} flights in {FLIGHTS // BATCH} batches."
    store.create_snapshot("before-lunch", "delays")
    store.pull("delays", 300).ack()
    store.pull("delays", 20).nack()
    yield "Snapshot before-lunch; then acknowledged 300 messages of delays, and gave back 20."


def flight(number: int) -> Message:
    """Return the message of a flight."""
    carrier, delay = CARRIERS[number * 7 % len(CARRIERS)], number * 37 % 95 - 20
    status = {"flight": f"{carrier} {100 + number}", "from": AIRPORTS[number % 3], "delay": delay}
    attributes = {"carrier": carrier, "late": str(delay > 15).lower()}
    return Message(json.dumps(status).encode(), attributes, ordering_key=carrier)


def _advice(app: App, directory: Path) -> str:
    """Return what to type: the commands work on the demo, whatever the environment names."""
    prefix = "" if directory.is_absolute() else "./"
    lines = [f"export PUBSUB_DELTA_ROOT={shlex.quote(f'{prefix}{directory}')}"]
    if "project" in app.global_options:
        lines.append(f"export PUBSUB_DELTA_PROJECT={shlex.quote(app.settings.project)}")
    others = ("PUBSUB_DELTA_ENDPOINT", "PUBSUB_DELTA_REMOTE")
    lines += [f"unset {name}" for name in others if app.environment.get(name)]
    for command, what in TO_TRY:
        lines += [f"# {what}", colors.styled(f"pubsub-delta {command}", "command")]
    return "\nTo try it:\n\n" + "".join(f"  {line}\n" for line in lines)
