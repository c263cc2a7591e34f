"""The whole command line, put together."""

from __future__ import annotations

import click

from pubsub_delta import __version__
from pubsub_delta.cli.commands import Root
from pubsub_delta.cli.completion import completion
from pubsub_delta.cli.console import console
from pubsub_delta.cli.delivery import message_commands
from pubsub_delta.cli.schemas import schemas
from pubsub_delta.cli.serve import serve
from pubsub_delta.cli.shell import shell
from pubsub_delta.cli.snapshots import snapshots
from pubsub_delta.cli.subscriptions import subscriptions
from pubsub_delta.cli.topics import topics
from pubsub_delta.cli.upkeep import maintain
from pubsub_delta.cli.watch import watch

HELP = """Google Cloud Pub/Sub's command line, for a store in Delta tables.

What works as `gcloud pubsub …` works as `pubsub-delta …`.

\b
Where the store is, and how results are shown:
  --root, --project, --remote, --endpoint    options, before or after the command
  PUBSUB_DELTA_ROOT, PUBSUB_DELTA_PROJECT, PUBSUB_DELTA_REMOTE, PUBSUB_DELTA_ENDPOINT
  ~/.config/pubsub_delta/config.toml, or the file in PUBSUB_DELTA_CONFIG:
      root = "/data/pubsub"
      project = "local"
      format = "json"

On a disk or object storage a command works on the tables itself. What needs Spark, as every
command does in a catalog, starts it, which takes some seconds: `pubsub-delta shell` does so once
for many commands, and with --remote sc://HOST:PORT a Spark Connect server does the work. With
--endpoint HOST:PORT a running `pubsub-delta serve` answers.

Exit codes: 0 done, 1 an error, 2 a wrong command line.
"""

EXAMPLES = (
    "topics create flights --root=/data/pubsub",
    "subscriptions create delays --topic=flights",
    "topics publish flights --message=late --attribute=carrier=UA",
    "subscriptions pull delays --auto-ack --limit=10",
    "shell --root=/data/pubsub",
    "topics list --endpoint=localhost:8085",
)

cli = Root("pubsub-delta", help=HELP, examples=EXAMPLES)
click.version_option(__version__, prog_name="pubsub-delta")(cli)
for verb in (*message_commands, watch):
    subscriptions.add_command(verb)
for command in (
    topics,
    subscriptions,
    snapshots,
    schemas,
    maintain,
    serve,
    console,
    shell,
    completion,
):
    cli.add_command(command)


def main() -> None:
    """Run the command line of this process."""
    cli.main(prog_name="pubsub-delta")
