"""``pubsub-delta console``: the store in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import Switch
from pubsub_delta.cli.commands import Verb
from pubsub_delta.clock import SystemClock


@click.command(
    "console",
    cls=Verb,
    examples=[
        "console --root=./pubsub",
        "console --root=./pubsub --read-only --port=8090",
    ],
)
@click.option("--host", default="localhost", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8086,
    show_default=True,
    help="Where to listen; 0: a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Readers sign in with what stands in it; any address but this machine's needs one.",
)
@click.option(
    "--allowed-host",
    multiple=True,
    metavar="NAME",
    help="Another name that browsers call it by, as behind a proxy. Repeatable.",
)
@click.option("--read-only", cls=Switch, help="Show everything, and change nothing.")
@click.pass_obj
def console(
    app: App,
    /,
    host: str,
    port: int,
    token_file: Path | None,
    allowed_host: tuple[str, ...],
    read_only: bool | None,
) -> None:
    """Show topics, subscriptions, snapshots and backlogs in a browser, and replay messages.

    It runs until it is interrupted (Ctrl+C, SIGTERM). It serves this machine only, unless a token
    is given.
    """
    # Imported here: the extra is needed for this command only.
    from pubsub_delta.console.application import application
    from pubsub_delta.console.security import Access
    from pubsub_delta.console.serve import serve

    token = None if token_file is None else token_file.read_text(encoding="utf-8").strip()
    access = Access(host, token, bool(read_only), allowed_host)
    access.check()
    store, settings = app.store, app.settings
    made = application(
        store, access, SystemClock(), project=settings.project, root=settings.root or ""
    )
    serve(made, host, port, lambda url: app.tell(f"The console is at {url}  (Ctrl+C ends it)"))
