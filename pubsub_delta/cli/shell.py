"""``pubsub-delta shell``: runs many commands in one process."""

from __future__ import annotations

import sys
from typing import Any

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.records import BOM
from pubsub_delta.cli.shell_lines import Read, Shell


@click.command(
    "shell",
    cls=Command,
    examples=["shell", "shell --root=/data/pubsub --project=flights", "shell < commands.txt"],
)
@click.pass_context
def shell(ctx: click.Context) -> None:
    """Run many commands on one store, and complete names with Tab.

    A command is typed as after `pubsub-delta`, or with `pubsub-delta` or `gcloud pubsub` before it.
    An error does not end the shell; `exit` and Ctrl-D do. If standard input is not a terminal,
    there is no prompt and no question, and the exit code is 1 if a command failed.
    """
    app = ctx.ensure_object(App)
    if app.in_shell:
        raise click.UsageError("a shell runs already; leave it with exit")
    running = Shell(ctx.find_root().command, app)
    if not sys.stdin.isatty():
        raise click.exceptions.Exit(running.run_all(_lines_of(sys.stdin)))
    from pubsub_delta.cli.prompt import prompting  # takes a while to import

    app.open()
    where = f"{app.place}, project {app.settings.project}."
    app.print_status(f"{where} Tab completes, help lists commands, Ctrl-D leaves.")
    running.run_all(prompting(running, ctx.find_root().command, app))


def _lines_of(stream: Any) -> Read:
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="surrogateescape")  # data may be any bytes, as in arguments

    def read(_: str) -> str:
        line: str = stream.readline()
        if not line:
            raise EOFError
        return line.removeprefix(BOM)

    return read
