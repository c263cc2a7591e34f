"""Command and group classes: global options in any place, and errors of one line."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from pubsub_delta.cli.application import App, command_of, one_line, print_stderr
from pubsub_delta.cli.arguments import FormatType, KeysType, Switch, expand_switches
from pubsub_delta.cli.settings import LOG_LEVELS
from pubsub_delta.cli.standard_streams import open_closed_streams
from pubsub_delta.cli.suggestions import suggest_command
from pubsub_delta.errors import PubSubError, with_class
from pubsub_delta.jobs.unwritten import writing_stdout

_ASKS_FOR_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


class GlobalOption(click.Option):
    """An option of every command, which may also be before the command."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, expose_value=False, callback=_keep, **more)


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    app = ctx.ensure_object(App)
    if value not in (None, False) and param.name is not None:
        app.global_options[param.name] = value


class GcloudOption(GlobalOption):
    """An option of gcloud without effect here."""

    def __init__(self, *names: str, **more: Any) -> None:
        more.setdefault("help", "An option of gcloud without effect here.")
        super().__init__([*names], hidden=True, **more)
        self.callback = None


class GcloudSwitch(GcloudOption, Switch):
    """Such an option with ``--name=false`` and ``--no-name``."""


def _silence(ctx: click.Context, _: click.Parameter, value: bool | None) -> None:
    if value is not None:
        ctx.ensure_object(App).silent = not value


def _no_flags_file(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            "--flags-file: this option of gcloud is not implemented; give the options themselves"
        )


def _flatten(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if value:
        ctx.ensure_object(App).selection_options["flatten"] = value


def gcloud_options() -> list[click.Parameter]:
    """Return gcloud's global options that have little or no effect here."""
    output = GcloudSwitch("--user-output-enabled", help="With --no-: print errors only.")
    output.callback = _silence
    flags = GcloudOption("--flags-file", help="An option of gcloud that is refused here.")
    flags.callback = _no_flags_file
    return [
        output,
        flags,
        GcloudOption("--verbosity"),
        GcloudOption("--account"),
        GcloudOption("--configuration"),
        GcloudOption("--impersonate-service-account"),
        GcloudOption("--access-token-file"),
        GcloudOption("--billing-project"),
        GcloudOption("--trace-token"),
        GcloudSwitch("--log-http"),
    ]


def global_options() -> list[click.Parameter]:
    """Return the options that every command takes."""
    flatten = GlobalOption(
        ["--flatten"],
        type=KeysType(),
        help="Keys of lists; each item is shown as a separate record.",
    )
    flatten.callback = _flatten
    return [
        *gcloud_options(),
        flatten,
        GlobalOption(["--root"], help="The store: a directory, URL or catalog schema."),
        GlobalOption(
            ["--tables-root"],
            help=(
                "The directory or URL of the tables of table subscriptions. Default: tables "
                "below the root."
            ),
        ),
        GlobalOption(["--project"], help="The project of short names. Default: local."),
        GlobalOption(
            ["--format"],
            type=FormatType(),
            help=(
                "The format of results: table, json, yaml, csv, value, get, list, flattened, "
                "config or none; also with columns: value(name.basename(),topic)."
            ),
        ),
        GlobalOption(["-q", "--quiet"], is_flag=True, help="Do not ask before deleting."),
        GlobalOption(
            ["--log-level"],
            type=click.Choice(LOG_LEVELS),
            help="The least level of Spark's log messages that are shown. Default: error.",
        ),
        GlobalOption(
            ["--remote"],
            metavar="sc://HOST:PORT",
            help="The Spark Connect server to use, in place of a JVM on this machine.",
        ),
        GlobalOption(
            ["--endpoint"],
            metavar="HOST:PORT",
            help="The running `pubsub-delta serve` to call, in place of --root.",
        ),
        GlobalOption(
            ["--endpoint-tls"],
            metavar="FILE|public",
            help=(
                "Use TLS, and trust the certificate or authority in this PEM file, or public "
                "authorities."
            ),
        ),
        GlobalOption(
            ["--endpoint-token-file"],
            metavar="FILE",
            help="The file with the token of that server.",
        ),
    ]


class Command(click.Command):
    """A command: an error is one line, and the exit code 1.

    An own option replaces the global one of the same name.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        own = {name for each in self.params for name in each.opts}
        self.params += [each for each in global_options() if not own.intersection(each.opts)]
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(expand_switches(args, _switches(self))))

    def invoke(self, ctx: click.Context) -> Any:
        app = ctx.ensure_object(App)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warnings(app)
                return super().invoke(ctx)
        except PubSubError as error:
            app.print_error(error)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if app.settings.log_level == "debug":
                traceback.print_exc()
            app.print_error(
                f"{with_class(error)} (unexpected; --log-level debug shows where it comes from)"
            )
        raise click.exceptions.Exit(1)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the whole first sentence; listings wrap it."""
        return super().get_short_help_str(max(limit, 120))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


class Group(click.Group):
    """A group of commands."""

    command_class = Command

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.params += global_options()
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(expand_switches(args, _switches(self))))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not ctx.resilient_parsing and name[:1] != "-":
            advice = suggest_command(ctx.find_root().command, self, name)
            raise click.UsageError(f"No such command {name!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the whole first sentence; listings wrap it."""
        return super().get_short_help_str(max(limit, 120))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


class RootGroup(Group):
    """The command line: a usage error is one line, and the exit code 2."""

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
            open_closed_streams()
            with writing_stdout():
                result = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except PubSubError as error:
            print_stderr(f"ERROR: (pubsub-delta) {error.code}: {one_line(error)}")
            sys.exit(1)
        except _ASKS_FOR_HELP as error:
            error.show()
            sys.exit(2)
        except click.ClickException as error:
            ctx = getattr(error, "ctx", None)
            path = f"{ctx.command_path} " if ctx is not None else "pubsub-delta "
            message = one_line(error.format_message()).removesuffix(".")
            end = "" if message.endswith("?") else "."
            print_stderr(f"ERROR: ({command_of(ctx)}) {message}{end} See: {path}--help")
            sys.exit(error.exit_code)
        except click.Abort:
            print_stderr("ERROR: (pubsub-delta) Interrupted.")
            sys.exit(1)
        if not standalone_mode:
            return result
        sys.exit(result if isinstance(result, int) else 0)


def _switches(command: click.Command) -> set[str]:
    return {name for each in command.params if isinstance(each, Switch) for name in each.opts}


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the own options of a command, and then the global ones."""
    for title, wanted in (("Options", False), ("Global options", True)):
        options = [each for each in command.get_params(ctx) if isinstance(each, click.Option)]
        params = [each for each in options if isinstance(each, GlobalOption) == wanted]
        records = [record for p in params if (record := p.get_help_record(ctx)) is not None]
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write the examples of a command."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"  pubsub-delta {example}\n")


def _show_warnings(app: App) -> Any:
    """Return a ``showwarning``; without --log-level it shows the warnings of this library only."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        ours = category.__module__.startswith("pubsub_delta")
        if ours or app.settings.log_level != "error":
            app.warn(message)

    return show
