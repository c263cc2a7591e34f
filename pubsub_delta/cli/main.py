"""The whole command line, put together."""

from __future__ import annotations

import click

from pubsub_delta import __version__
from pubsub_delta.cli.commands import RootGroup
from pubsub_delta.cli.completion_names import exit_beside_listing
from pubsub_delta.cli.lazy_commands import LazyCommands
from pubsub_delta.jobs.unwritten import drop_unwritten

HELP = """Google Cloud Pub/Sub's command line, for a store in Delta tables.

Commands written for `gcloud pubsub` work with `pubsub-delta` in its place.

\b
Settings come from the first of these that has them:
  --root, --project, --remote, --endpoint, before or after the command
  PUBSUB_DELTA_ROOT, PUBSUB_DELTA_PROJECT,
  PUBSUB_DELTA_REMOTE, PUBSUB_DELTA_ENDPOINT
  ~/.config/pubsub_delta/config.toml, or the file in PUBSUB_DELTA_CONFIG:
      root = "/data/pubsub"
      project = "local"
      format = "json"

On a disk or in object storage most commands work without Spark. Others, and every command on
a catalog, start Spark, which takes some seconds. The command `shell` starts it once for many
commands. With --remote sc://HOST:PORT a Spark Connect server does the work instead. With
--endpoint HOST:PORT commands call a running `pubsub-delta serve`.

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

COMMANDS = {
    "topics": "topics:topics",
    "subscriptions": "subscriptions:subscriptions",
    "snapshots": "snapshots:snapshots",
    "schemas": "schemas:schemas",
    "maintain": "maintain:maintain",
    "doctor": "doctor:doctor",
    "demo": "demo:demo",
    "serve": "serve:serve",
    "console": "console:console",
    "shell": "shell:shell",
    "completion": "completion:completion",
}
"""The module and the attribute of each command, which is imported when it is used."""

cli = RootGroup("pubsub-delta", help=HELP, examples=EXAMPLES, commands=LazyCommands(COMMANDS))
click.version_option(__version__, prog_name="pubsub-delta")(cli)


def main() -> None:
    """Run the command line of this process."""
    try:
        cli.main(prog_name="pubsub-delta")
    except SystemExit as end:
        drop_unwritten()
        exit_beside_listing(end.code if isinstance(end.code, int) else 0)
        raise
