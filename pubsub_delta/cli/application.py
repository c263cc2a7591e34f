"""The context of a run of the command line: settings, store or server, and output."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime, tzinfo
from functools import cached_property, partial
from importlib import import_module
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pubsub_delta import names
from pubsub_delta.cli import colors
from pubsub_delta.cli.completion_names import NamesFile, ResourceNames
from pubsub_delta.cli.formats import Format
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.selection import Selection
from pubsub_delta.cli.printing import chosen_format, render_selected
from pubsub_delta.cli.progress import waiting
from pubsub_delta.cli.service import Service
from pubsub_delta.cli.settings import CONFIG, Settings, read_settings
from pubsub_delta.cli.suggestions import ListNames, suggest_resource
from pubsub_delta.cli.terminal import for_terminal, printable
from pubsub_delta.cli.times import parse_time
from pubsub_delta.clock import CheckedClock, Clock, SystemClock
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound, PubSubError
from pubsub_delta.jobs.unwritten import writing_stdout

if TYPE_CHECKING:  # commands with --endpoint do not import it
    from pubsub_delta.client import PubSub

T = TypeVar("T")
W = TypeVar("W")


class App:
    """One run of the command line.

    Args:
        opener: opens the store of the settings, at its first use.
        clock: returns the time that ``-p1d`` is relative to.
        environment: the environment variables; those of the process by default.
        pause: waits a number of seconds.
        zone: the time zone of times without one; that of this machine by default.
    """

    def __init__(
        self,
        opener: Callable[[Settings], PubSub] | None = None,
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        pause: Callable[[float], object] | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self.global_options: dict[str, Any] = {}
        self.selection_options: dict[str, Any] = {}
        self.silent = False
        self.zone = zone
        self.pause = pause if pause is not None else threading.Event().wait
        self.in_shell = False
        self._stored: ListNames | None = None
        self._stores: dict[tuple[str, str, str | None, str | None], PubSub] = {}
        self._servers: dict[Settings, Service] = {}
        self._opener = opener if opener is not None else _open_store
        self._clock = CheckedClock(SystemClock() if clock is None else clock)
        self.environment = os.environ if environment is None else environment

    @cached_property
    def settings(self) -> Settings:
        """The settings of global options, environment and file; UsageError if they are wrong."""
        try:
            return read_settings(self.global_options, self.environment)
        except InvalidArgument as error:
            raise click.UsageError(str(error)) from None

    @cached_property
    def store(self) -> PubSub:
        """The store. Opening it takes seconds if it starts Spark, or with --remote."""
        if self.settings.endpoint is not None:
            raise click.UsageError(
                f"the server at {self.settings.endpoint} has no method for this command; give "
                "--root in place of --endpoint, to work on the store itself"
            )
        if self.settings.root is None:
            raise click.UsageError(
                "no store is named; --root, the environment variable PUBSUB_DELTA_ROOT, or root in "
                f"~/.config/pubsub_delta/config.toml (or where {CONFIG} says) is accepted: "
                "a directory, a URL or a catalog schema"
            )
        root, project, remote = self.settings.root, self.settings.project, self.settings.remote
        for _, _, other, _ in self._stores:
            if other != remote:
                raise FailedPrecondition(
                    f"--remote: {remote!r}: this shell has a session with "
                    f"{other or 'local Spark'}, and can have only one; start another shell, or "
                    "run the command outside of it"
                )
        named = (root, project, remote, self.settings.tables_root)
        if named not in self._stores:
            with waiting(f"Connecting to {remote}", 0) if remote else nullcontext():
                self._stores[named] = self._opener(self.settings)
        return self._stores[named]

    def opened(self, settings: Settings) -> PubSub:
        """Open the store of other settings than those of the command line."""
        return self._opener(settings)

    @cached_property
    def service(self) -> Service:
        """The server of the settings, or else the store."""
        if self.settings.endpoint is None:
            return self.store
        if self.settings not in self._servers:
            self._servers[self.settings] = _connect(self.settings)
        return self._servers[self.settings]

    @property
    def place(self) -> str:
        """The store or the server, for messages."""
        server = self.settings.endpoint
        return f"Store {self.settings.root}" if server is None else f"Server {server}"

    def open(self) -> None:
        """Open the store now, not at its first use."""
        self.call(lambda _: None)

    def call(self, work: Callable[[Service], T]) -> T:
        """Call the store or the server, with a spinner on a terminal."""
        return self._call(self.service, work)

    def call_store(self, work: Callable[[PubSub], T]) -> T:
        """Call a method of the store that servers do not have."""
        return self._call(self.store, work)

    def _call(self, service: W, work: Callable[[W], T]) -> T:
        ctx = click.get_current_context(silent=True)
        words = ["pubsub-delta"] if ctx is None else ctx.command_path.split()[1:]
        with waiting(f"Running {' '.join(words)}"):
            return work(service)

    def read_time(self, text: str) -> datetime:
        """Parse a time, which may be relative to now."""
        return parse_time(text, self._clock.now(), "time", self.zone)

    @property
    def context(self) -> Context:
        """The context of filters and formats: the time, the zone, the options of the command."""
        ctx = click.get_current_context(silent=True)
        return Context(self._clock.now(), self.zone, {} if ctx is None else dict(ctx.params))

    @property
    def selection(self) -> Selection:
        """The selection of records by the options of a listing."""
        chosen = {key: value for key, value in self.selection_options.items() if key != "page_size"}
        return Selection(**chosen)

    def completion_names(self, collection: str, project: str | None = None) -> Sequence[str]:
        """Return the names of a collection for completion, without starting Spark."""
        try:
            settings = self.settings
            project = project or settings.project
            if self._stored is None:
                self._stored = ResourceNames(self._service_without_spark, self._clock.now)
            list_all = partial(self._stored, collection, project)
            if self.in_shell or settings.root is None:
                return list_all()
            kept = NamesFile(settings.root, self.environment, self._clock.now)
            return kept.names(collection, project, list_all)
        except click.UsageError:  # the command itself reports a wrong file
            return ()

    def existing_names(self, collection: str, project: str) -> Sequence[str]:
        """Return the names of a collection, from the open store or server."""
        if self._stored is not None:
            return self._stored(collection, project)
        return ResourceNames(lambda: self.service, self._clock.now)(collection, project)

    def _service_without_spark(self) -> Service:
        """Return the server, or the store without Spark."""
        if self.settings.endpoint is not None:
            return self.service
        from pubsub_delta.cli.session import without_pandas  # only where a store is opened
        from pubsub_delta.client import PubSub

        assert self.settings.root is not None
        assert self.settings.remote is None
        without_pandas()
        return PubSub(None, self.settings.root, project=self.settings.project)

    def for_line(self, stored: ListNames) -> App:
        """Return the App of one line of a shell, with the same global options and stores.

        Args:
            stored: returns the full names of a collection ("topics") in a project.
        """
        line = App(self._opener, self._clock, self.environment, self.pause, self.zone)
        line.global_options, line._stored = dict(self.global_options), stored
        line._stores, line._servers = self._stores, self._servers
        line.in_shell, line.silent = True, self.silent
        return line

    def topic(self, name: str, project: str | None = None) -> str:
        """Return the full name of a topic; ``project`` is for a short name."""
        return str(names.topic_name(name, project or self.settings.project))

    def subscription(self, name: str, project: str | None = None) -> str:
        """Return the full name of a subscription."""
        return str(names.subscription_name(name, project or self.settings.project))

    def snapshot(self, name: str, project: str | None = None) -> str:
        """Return the full name of a snapshot."""
        return str(names.snapshot_name(name, project or self.settings.project))

    def schema(self, name: str, project: str | None = None) -> str:
        """Return the full name of a schema."""
        return str(names.schema_name(name, project or self.settings.project))

    def show(self, record: Any, default: str = "yaml") -> None:
        """Print one record."""
        self._show([record], default, single=True)

    def show_all(self, records: Sequence[Any], default: str = "yaml") -> None:
        """Print the selected records of a listing."""
        count = self._show(records, default)
        if not count and "format" not in self.global_options:
            self.print_status("Listed 0 items.")

    def check_all(self, records: Sequence[Any], default: str = "yaml") -> None:
        """Raise the error of records that ``show_all`` could not print; print nothing."""
        text, _ = self._rendered(records, self.format(default), lambda _: None)
        with writing_stdout():
            text.encode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "strict")

    def _show(self, records: Sequence[Any], default: str, *, single: bool = False) -> int:
        form = self.format(default)
        text, count = self._rendered(records, form, self.warn, single=single)
        self.print(text, "yaml" if form.kind == "default" else form.kind)
        return count

    def _rendered(
        self,
        records: Sequence[Any],
        form: Format,
        warn: Callable[[str], object],
        *,
        single: bool = False,
    ) -> tuple[str, int]:
        size, width = self.selection_options.get("page_size"), self.width
        shown = records, form, self.selection, self.context
        return render_selected(*shown, single=single, page_size=size, width=width, warn=warn)

    @property
    def width(self) -> int | None:
        """The width of the terminal; None if standard output is not one."""
        return get_terminal_size().columns if sys.stdout.isatty() else None

    def print(self, text: str, kind: str = "value") -> None:
        """Print a result; on a terminal with colors, and with control characters escaped."""
        if self.silent:
            return
        shown = for_terminal(text) if sys.stdout.isatty() else text
        if colors.are_enabled(sys.stdout, self.environment):
            shown = colors.color_result(shown, kind)
        with writing_stdout():
            click.echo(shown, nl=False, color=True)  # else click removes escape sequences

    def print_styled(self, text: str) -> None:
        """Print a text with styles, or without them if colors are off."""
        wanted = colors.are_enabled(sys.stdout, self.environment)
        if self.silent:
            return
        with writing_stdout():
            click.echo(text if wanted else click.unstyle(text), nl=False, color=True)

    def show_changed(self, records: Sequence[Any]) -> None:
        """Print created or updated resources, if --format is given."""
        if records and self.global_options.get("format"):
            self.show_all(records)

    def print_status(self, text: str) -> None:
        """Print a line on standard error, unless user output is disabled."""
        if not self.silent:
            print_stderr(text, self.environment)

    def warn(self, message: Warning | str, *_: Any) -> None:
        """Print a warning as one line; it replaces ``warnings.showwarning``."""
        self.print_status(f"WARNING: {one_line(message)}")

    def print_error(self, error: object) -> None:
        """Print an error as one line: the command, the canonical code, the message."""
        code, chosen = getattr(error, "code", "INTERNAL"), one_line(error)
        if isinstance(error, NotFound):
            chosen = suggest_resource(chosen, self.settings.project, self.existing_names)
        command = command_of(click.get_current_context())
        print_stderr(f"ERROR: ({command}) {code}: {chosen}", self.environment)

    def for_each(self, names: Iterable[str], act: Callable[[str], Any]) -> None:
        """Call ``act`` for each name; a failure does not stop the others.

        The exit code is 1 if any failed. With --format the results are printed.
        """
        done, failed = [], False
        for name in names:
            try:
                result = act(name)
            except PubSubError as error:
                self.print_error(error)
                failed = True
            else:
                done += [result] if result is not None else []
        self.show_changed(done)
        if failed:
            raise click.exceptions.Exit(1)

    def delete_each(
        self,
        what: str,
        given: Sequence[str],
        full_name: Callable[[str], str],
        delete: Callable[[Service, str], None],
    ) -> None:
        """Delete resources of one kind, after confirmation."""
        self.confirm_deletion([full_name(each) for each in given])

        def one(each: str) -> None:
            name = full_name(each)
            self.call(lambda store: delete(store, name))
            self.print_status(f"Deleted {what} [{name}].")

        self.for_each(given, one)

    def confirm_deletion(self, names: Sequence[str]) -> None:
        """Ask for confirmation on a terminal, unless ``--quiet`` is given.

        gcloud does not ask, so scripts are not asked either.
        """
        if self.settings.quiet or not sys.stdin.isatty():
            return
        chosen = "\n".join(f" - [{name}]" for name in names)
        self.print_status(f"The following will be deleted:\n{chosen}")
        try:
            agreed = click.confirm("Do you want to continue", default=False, err=True)
        except click.Abort:  # standard input was closed
            self.print_status("")
            agreed = False
        if not agreed:
            command = command_of(click.get_current_context())
            chosen = "Nothing was deleted; --quiet deletes without asking."
            print_stderr(f"ERROR: ({command}) {chosen}", self.environment)
            raise click.exceptions.Exit(1)

    def format(self, default: str) -> Format:
        """Return the format of the settings, or the default one."""
        try:
            return chosen_format(self.settings.format or "", default, self.selection, self.context)
        except InvalidArgument as error:  # the format of the file; that of the option was checked
            raise click.UsageError(str(error)) from None


def _open_store(settings: Settings) -> PubSub:
    from pubsub_delta.cli.session import open_store  # not needed with --endpoint

    return open_store(settings)


def _connect(settings: Settings) -> Service:
    if settings.log_level == "error":
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read when gRPC is imported
    import_module("pubsub_delta.server.grpc_services")  # its error says how to install the extra
    from pubsub_delta.cli.endpoint.client import connect  # the extra is needed here only

    return connect(settings)


def print_stderr(text: str, environment: Mapping[str, str] = os.environ) -> None:
    """Print a line on standard error; on a terminal its level is colored."""
    if colors.are_enabled(sys.stderr, environment):
        text = colors.color_level(text)
    with suppress(OSError):  # where it cannot be printed the exit code tells
        click.echo(text, err=True, color=True)


def one_line(message: object) -> str:
    """Write a message on one line."""
    return printable(" ".join(str(message).split()))


def command_of(ctx: click.Context | None) -> str:
    """Return the name of a command in errors: ``pubsub-delta.topics.create``."""
    return "pubsub-delta" if ctx is None else ctx.command_path.replace(" ", ".")
