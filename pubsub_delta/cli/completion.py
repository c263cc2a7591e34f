"""``pubsub-delta completion``: prints completion scripts for shells."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pubsub_delta.cli.commands import Command
from pubsub_delta.jobs.unwritten import writing_stdout

VARIABLE = "_PUBSUB_DELTA_COMPLETE"
"""The variable that the scripts set to ask for completions."""


@click.command(
    "completion",
    cls=Command,
    examples=[
        "completion bash > ~/.local/share/bash-completion/completions/pubsub-delta",
        "completion zsh > ~/.zfunc/_pubsub-delta",
        "completion fish > ~/.config/fish/completions/pubsub-delta.fish",
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script by which bash, zsh or fish completes commands and options.

    To try it: `eval "$(pubsub-delta completion bash)"`. Names of topics and subscriptions are
    completed if that needs no Spark: not in a catalog, nor with --remote.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    with writing_stdout():
        click.echo(kind(ctx.find_root().command, {}, "pubsub-delta", VARIABLE).source())
