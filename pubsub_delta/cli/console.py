"""``pubsub-delta console``: shows the store in a browser, alone or beside a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import Switch
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.token_files import read_token
from pubsub_delta.clock import SystemClock
from pubsub_delta.jobs.option_groups import F, options

if TYPE_CHECKING:  # the extra is needed where a console is asked for only
    from pubsub_delta.console.middleware import SecurityMiddleware
    from pubsub_delta.console.security import ConsoleAccess

SERVE_PREFIX = "console-"
"""The prefix of the options of a console in other commands."""


def access_options(prefix: str = "") -> Callable[[F], F]:
    """Return a decorator that adds the options of access to a console."""

    def described(text: str) -> str:
        return f"Of the console: {text[0].lower()}{text[1:]}" if prefix else text

    return options(
        click.option(
            f"--{prefix}host",
            default="localhost",
            show_default=True,
            help=described("The address to listen at."),
        ),
        click.option(
            f"--{prefix}token-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help=described(
                "The file with the token to sign in with; needed unless the console serves this "
                "machine only."
            ),
        ),
        click.option(
            f"--{prefix}allowed-host",
            multiple=True,
            metavar="NAME",
            help=described("Another host name of the console, as behind a proxy. Repeatable."),
        ),
        click.option(
            f"--{prefix}read-only",
            cls=Switch,
            help=described("Show everything, and permit no change."),
        ),
    )


def console_access(options: Mapping[str, Any], prefix: str = "") -> ConsoleAccess:
    """Return the access that the options give; an error if it is not safe."""
    from pubsub_delta.console.security import ConsoleAccess

    named = prefix.replace("-", "_")
    access = ConsoleAccess(
        host=options[f"{named}host"],
        token=read_token(options[f"{named}token_file"], f"{prefix}token-file"),
        read_only=bool(options[f"{named}read_only"]),
        allowed_hosts=options[f"{named}allowed_host"],
    )
    access.check()
    return access


def console_app(app: App, access: ConsoleAccess) -> SecurityMiddleware:
    """Return the console of the store of the settings, as an ASGI application."""
    from pubsub_delta.console.application import create_app

    store, settings = app.store, app.settings
    project, root = settings.project, settings.root or ""
    return create_app(store, access, SystemClock(), project=project, root=root)


@contextmanager
def console_in_thread(app: App, options: Mapping[str, Any]) -> Iterator[Callable[[], None]]:
    """Yield a function that starts the console in a thread, which ends with the block.

    The address is bound at once, so an error comes before anything else starts. Without
    ``--console-port`` the function does nothing.
    """
    port: int | None = options["console_port"]
    if port is None:
        _check_console_port()
        yield lambda: None
        return
    # Imported here: the extra is needed where a console is asked for only.
    from pubsub_delta.console.serve import open_socket, serve_in_thread, url_of

    access = console_access(options, SERVE_PREFIX)
    with ExitStack() as running:
        opened = running.enter_context(open_socket(access.host, port))

        def start() -> None:
            running.enter_context(serve_in_thread(console_app(app, access), opened))
            app.print_status(f"The console is at {url_of(access.host, opened)}")

        yield start


def _check_console_port() -> None:
    ctx = click.get_current_context()
    for option in ctx.command.params:
        given = ctx.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.opts[0].startswith(f"--{SERVE_PREFIX}"):
            raise click.UsageError(f"{option.opts[0]} needs --console-port, which runs the console")


@click.command(
    "console",
    cls=Command,
    examples=[
        "console --root=./pubsub",
        "console --root=./pubsub --read-only --port=8090",
    ],
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8086,
    show_default=True,
    help="The port to listen at; 0 for a free one.",
)
@access_options()
@click.pass_obj
def console(app: App, /, port: int, **options: Any) -> None:
    """Show topics, subscriptions, snapshots and backlogs in a browser, and replay messages.

    It runs until it is interrupted (Ctrl+C, SIGTERM). It serves this machine only, unless a token
    is given.
    """
    # Imported here: the extra is needed where a console is asked for only.
    from pubsub_delta.console.serve import serve

    access = console_access(options)
    made = console_app(app, access)

    def started(url: str) -> None:
        app.print_status(f"The console is at {url}  (Ctrl+C ends it)")

    serve(made, access.host, port, started)
