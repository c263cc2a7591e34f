"""The whole command line, put together."""

from __future__ import annotations

import click

from pubsub_delta import __version__
from pubsub_delta.cli.commands import Root
from pubsub_delta.cli.delivery import message_commands
from pubsub_delta.cli.snapshots import snapshots
from pubsub_delta.cli.subscriptions import subscriptions
from pubsub_delta.cli.topics import topics
from pubsub_delta.cli.upkeep import maintain

HELP = """Google Cloud Pub/Sub's command line, for a store in Delta tables.

What works as `gcloud pubsub …` works as `pubsub-delta …`.

\b
Where the store is, and how results are shown:
  --root, --project        options, before or after the command
  PUBSUB_DELTA_ROOT, PUBSUB_DELTA_PROJECT
  ~/.config/pubsub_delta/config.toml, or the file in PUBSUB_DELTA_CONFIG:
      root = "/data/pubsub"
      project = "local"
      format = "json"

\b
Examples:
  pubsub-delta topics create flights --root=/data/pubsub
  pubsub-delta subscriptions create delays --topic=flights
  pubsub-delta topics publish flights --message=late --attribute=carrier=UA
  pubsub-delta subscriptions pull delays --auto-ack --limit=10

\b
Completion for bash (also zsh_source, fish_source):
  eval "$(_PUBSUB_DELTA_COMPLETE=bash_source pubsub-delta)"

Exit codes: 0 done, 1 an error, 2 a wrong command line.
"""

cli = Root("pubsub-delta", help=HELP)
click.version_option(__version__, prog_name="pubsub-delta")(cli)
for verb in message_commands:
    subscriptions.add_command(verb)
cli.add_command(topics)
cli.add_command(subscriptions)
cli.add_command(snapshots)
cli.add_command(maintain)


def main() -> None:
    """Run the command line of this process."""
    cli.main(prog_name="pubsub-delta")
