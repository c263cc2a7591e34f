"""Commands and groups that take the global options anywhere and tell errors in one line."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from pubsub_delta.cli.advice import of_command
from pubsub_delta.cli.application import App, command_of, one_line, tell
from pubsub_delta.cli.arguments import FormatType, KeysType, Switch, spelled_out
from pubsub_delta.cli.settings import LOG_LEVELS
from pubsub_delta.errors import PubSubError

_ASKS_FOR_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


class GlobalOption(click.Option):
    """An option that every command takes, and that may also stand before the command."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, expose_value=False, callback=_keep, **more)


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    app = ctx.ensure_object(App)
    if value not in (None, False) and param.name is not None:
        app.given[param.name] = value


class OfGcloud(GlobalOption):
    """An option that scripts for gcloud have, and that says nothing here."""

    def __init__(self, *names: str, **more: Any) -> None:
        more.setdefault("help", "gcloud has it; here it says nothing.")
        super().__init__([*names], hidden=True, **more)
        self.callback = None


class OfGcloudSwitch(OfGcloud, Switch):
    """One that may also be ``--name=false`` or ``--no-name``."""


def _silence(ctx: click.Context, _: click.Parameter, value: bool | None) -> None:
    if value is not None:
        ctx.ensure_object(App).silent = not value


def _no_flags_file(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            "--flags-file: gcloud has it, and it is not implemented here; the options themselves "
            "are accepted"
        )


def _flatten(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if value:
        ctx.ensure_object(App).selecting["flatten"] = value


def gcloud_options() -> list[click.Parameter]:
    """Return the options that gcloud has of every command, and that mean little or nothing here."""
    output = OfGcloudSwitch("--user-output-enabled", help="Tell errors only, with --no-.")
    output.callback = _silence
    flags = OfGcloud("--flags-file", help="gcloud has it; here it is refused.")
    flags.callback = _no_flags_file
    return [
        output,
        flags,
        OfGcloud("--verbosity"),
        OfGcloud("--account"),
        OfGcloud("--configuration"),
        OfGcloud("--impersonate-service-account"),
        OfGcloud("--access-token-file"),
        OfGcloud("--billing-project"),
        OfGcloud("--trace-token"),
        OfGcloudSwitch("--log-http"),
    ]


def global_options() -> list[click.Parameter]:
    """Return the options that every command takes."""
    flatten = GlobalOption(
        ["--flatten"],
        type=KeysType(),
        help="Keys of lists, each item of which is shown as a record of its own.",
    )
    flatten.callback = _flatten
    return [
        *gcloud_options(),
        flatten,
        GlobalOption(["--root"], help="The store: a directory, URL or catalog schema."),
        GlobalOption(
            ["--tables-root"],
            help="Below which subscriptions may be written to tables: tables below the root.",
        ),
        GlobalOption(["--project"], help="What short names mean: local, if nobody says."),
        GlobalOption(
            ["--format"],
            type=FormatType(),
            help="table, json, yaml, csv, value, get, list, flattened, config, none; perhaps with "
            "columns: value(name.basename(),topic).",
        ),
        GlobalOption(["-q", "--quiet"], is_flag=True, help="Do not ask before deleting."),
        GlobalOption(
            ["--log-level"], type=click.Choice(LOG_LEVELS), help="What Spark's log shows: error."
        ),
        GlobalOption(
            ["--remote"],
            metavar="sc://HOST:PORT",
            help="A Spark Connect server to run on, in place of a JVM here.",
        ),
        GlobalOption(
            ["--endpoint"],
            metavar="HOST:PORT",
            help="A running `pubsub-delta serve` that answers, in place of --root.",
        ),
        GlobalOption(
            ["--endpoint-tls"],
            metavar="FILE|public",
            help="Speak TLS: trust the certificate, or its authority, in this PEM file; or public "
            "authorities.",
        ),
        GlobalOption(
            ["--endpoint-token-file"], metavar="FILE", help="The token of that server is in it."
        ),
    ]


class Verb(click.Command):
    """A command: its errors are one line each, and the exit code is 1.

    An option of its own stands in place of a global one of that name.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        own = {name for each in self.params for name in each.opts}
        self.params += [each for each in global_options() if not own.intersection(each.opts)]
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(spelled_out(args, _switches(self))))

    def invoke(self, ctx: click.Context) -> Any:
        app = ctx.ensure_object(App)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _shown_by(app)
                return super().invoke(ctx)
        except PubSubError as error:
            app.fail(error)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if app.settings.log_level == "debug":
                traceback.print_exc()
            first = next(iter(str(error).splitlines()), "")
            app.fail(
                f"{type(error).__name__}: {first} "
                "(unexpected; --log-level debug shows where it comes from)"
            )
        raise click.exceptions.Exit(1)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence whole; listings wrap it."""
        return super().get_short_help_str(max(limit, 120))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


class Group(click.Group):
    """A group of commands."""

    command_class = Verb

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.params += global_options()
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(spelled_out(args, _switches(self))))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not ctx.resilient_parsing and name[:1] != "-":
            advice = of_command(ctx.find_root().command, self, name)
            raise click.UsageError(f"No such command {name!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


class Root(Group):
    """The whole command line: the exit code is 2 where it is wrong, and that is one line too."""

    group_class = Group

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            result = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except _ASKS_FOR_HELP as error:
            error.show()
            sys.exit(2)
        except click.ClickException as error:
            ctx = getattr(error, "ctx", None)
            path = f"{ctx.command_path} " if ctx is not None else "pubsub-delta "
            message = one_line(error.format_message()).removesuffix(".")
            end = "" if message.endswith("?") else "."
            tell(f"ERROR: ({command_of(ctx)}) {message}{end} See: {path}--help")
            sys.exit(error.exit_code)
        except click.Abort:
            tell("ERROR: (pubsub-delta) Interrupted.")
            sys.exit(1)
        if not standalone_mode:
            return result
        sys.exit(result if isinstance(result, int) else 0)


def _switches(command: click.Command) -> set[str]:
    return {name for each in command.params if isinstance(each, Switch) for name in each.opts}


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write a command's own options first, and those that every command has apart from them."""
    for title, wanted in (("Options", False), ("Global options", True)):
        options = [each for each in command.get_params(ctx) if isinstance(each, click.Option)]
        params = [each for each in options if isinstance(each, GlobalOption) == wanted]
        records = [record for p in params if (record := p.get_help_record(ctx)) is not None]
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write examples as they are typed."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"  pubsub-delta {example}\n")


def _shown_by(app: App) -> Any:
    """Return what shows warnings: the store's own always, others only where a log is asked for."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        ours = category.__module__.startswith("pubsub_delta")
        if ours or app.settings.log_level != "error":
            app.warn(message)

    return show
