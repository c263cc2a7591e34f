"""What commands share: the settings, the store behind them, and how results are shown."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, tzinfo
from functools import cached_property, partial
from importlib import import_module
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pubsub_delta import names
from pubsub_delta.cli import colours
from pubsub_delta.cli.advice import of_missing
from pubsub_delta.cli.formats import Format
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.selection import Selection
from pubsub_delta.cli.kept_names import KeptNames
from pubsub_delta.cli.progress import waiting
from pubsub_delta.cli.service import Service
from pubsub_delta.cli.settings import CONFIG, Settings, read_settings
from pubsub_delta.cli.showing import text_of_records, usual_or_given
from pubsub_delta.cli.stored import StoredNames
from pubsub_delta.cli.terminal import for_terminal, printable
from pubsub_delta.cli.times import parse_time
from pubsub_delta.clock import Clock, SystemClock
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound, PubSubError

if TYPE_CHECKING:  # a command that asks a server does without it
    from pubsub_delta.client import PubSub

T = TypeVar("T")
W = TypeVar("W")

Stored = Callable[[str, str], Sequence[str]]
"""Tells the full names of a collection ("topics") in a project."""


class App:
    """One run of the command line.

    Args:
        opener: opens the store that the settings name, when it is first asked for.
        clock: what ``-p1d`` is relative to.
        environment: variables; those of the process by default.
        pause: waits so many seconds.
        zone: the time zone of times that name none; that of this machine by default.
    """

    def __init__(
        self,
        opener: Callable[[Settings], PubSub] | None = None,
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        pause: Callable[[float], object] | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self.given: dict[str, Any] = {}
        self.selecting: dict[str, Any] = {}
        self.silent = False
        self.zone = zone
        self.pause = pause if pause is not None else threading.Event().wait
        self.in_shell = False
        self._stored: Stored | None = None
        self._stores: dict[tuple[str, str, str | None, str | None], PubSub] = {}
        self._servers: dict[Settings, Service] = {}
        self._opener = opener if opener is not None else _open_store
        self._clock = clock if clock is not None else SystemClock()
        self.environment = os.environ if environment is None else environment

    @cached_property
    def settings(self) -> Settings:
        """What global options, the environment and the file say; a wrong file is a usage error."""
        try:
            return read_settings(self.given, self.environment)
        except InvalidArgument as error:
            raise click.UsageError(str(error)) from None

    @cached_property
    def store(self) -> PubSub:
        """The store; opening it takes seconds in a catalog, which starts Spark, or by a remote."""
        if self.settings.endpoint is not None:
            raise click.UsageError(
                f"this needs the store itself: the server at {self.settings.endpoint} has no "
                "method for it; --root is accepted, in place of --endpoint"
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
                    f"--remote: {remote!r}: this shell's session is with {other or 'local Spark'}, "
                    "and it can have one only; another shell, or a command of its own, is accepted"
                )
        named = (root, project, remote, self.settings.tables_root)
        if named not in self._stores:
            with waiting(f"Connecting to {remote}", 0) if remote else nullcontext():
                self._stores[named] = self._opener(self.settings)
        return self._stores[named]

    def opened(self, settings: Settings) -> PubSub:
        """Return the store that other settings name than those of the command line."""
        return self._opener(settings)

    @cached_property
    def service(self) -> Service:
        """What answers for Pub/Sub: the server that is named, or else the store."""
        if self.settings.endpoint is None:
            return self.store
        if self.settings not in self._servers:
            self._servers[self.settings] = _connect(self.settings)
        return self._servers[self.settings]

    @property
    def place(self) -> str:
        """What is asked, in words."""
        server = self.settings.endpoint
        return f"Store {self.settings.root}" if server is None else f"Server {server}"

    def open(self) -> None:
        """Open the store now, and not when it is first asked for."""
        self.call(lambda _: None)

    def call(self, ask: Callable[[Service], T]) -> T:
        """Ask the store or the server, and show on a terminal that it is going on."""
        return self._asked(self.service, ask)

    def call_store(self, ask: Callable[[PubSub], T]) -> T:
        """Ask the store for what no server answers."""
        return self._asked(self.store, ask)

    def _asked(self, whom: W, ask: Callable[[W], T]) -> T:
        ctx = click.get_current_context(silent=True)
        words = ["pubsub-delta"] if ctx is None else ctx.command_path.split()[1:]
        with waiting(f"Running {' '.join(words)}"):
            return ask(whom)

    def read_time(self, text: str) -> datetime:
        """Return the time that a text means now."""
        return parse_time(text, self._clock.now(), "time", self.zone)

    @property
    def context(self) -> Context:
        """What filters and formats are read in: the time, the zone, the options of the command."""
        ctx = click.get_current_context(silent=True)
        return Context(self._clock.now(), self.zone, {} if ctx is None else dict(ctx.params))

    @property
    def selection(self) -> Selection:
        """Which records of a listing are shown, as the command line says."""
        told = {key: value for key, value in self.selecting.items() if key != "page_size"}
        return Selection(**told)

    def stored(self, collection: str, project: str | None = None) -> Sequence[str]:
        """Return the full names of a collection, where they can be had without starting Spark."""
        try:
            settings = self.settings
            project = project or settings.project
            if self._stored is None:
                self._stored = StoredNames(self._unstarted, self._clock.now)
            listed = partial(self._stored, collection, project)
            if self.in_shell or settings.root is None:
                return listed()
            kept = KeptNames(settings.root, self.environment, self._clock.now)
            return kept.names(collection, project, listed)
        except click.UsageError:  # of a wrong file: the command itself tells
            return ()

    def known(self, collection: str, project: str) -> Sequence[str]:
        """Return the full names of a collection, by who answers already."""
        if self._stored is not None:
            return self._stored(collection, project)
        return StoredNames(lambda: self.service, self._clock.now)(collection, project)

    def _unstarted(self) -> Service:
        """Return what answers without Spark."""
        if self.settings.endpoint is not None:
            return self.service
        from pubsub_delta.cli.session import without_pandas  # only where a store is opened
        from pubsub_delta.client import PubSub

        assert self.settings.root is not None
        assert self.settings.remote is None
        without_pandas()
        return PubSub(None, self.settings.root, project=self.settings.project)

    def for_line(self, stored: Stored) -> App:
        """Return an App for one line of a shell, which begins as this one and shares its stores.

        Args:
            stored: tells the full names of a collection ("topics") in a project.
        """
        line = App(self._opener, self._clock, self.environment, self.pause, self.zone)
        line.given, line._stored = dict(self.given), stored
        line._stores, line._servers = self._stores, self._servers
        line.in_shell, line.silent = True, self.silent
        return line

    def topic(self, name: str, project: str | None = None) -> str:
        """Return the full name of a topic; a short one means the given project, or the usual."""
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
        """Print a listing: those of its records that are asked for."""
        count = self._show(records, default)
        if not count and "format" not in self.given:
            self.tell("Listed 0 items.")

    def _show(self, records: Sequence[Any], default: str, *, single: bool = False) -> int:
        form = self.format(default)
        text, count = text_of_records(
            records,
            form,
            self.selection,
            self.context,
            single=single,
            page_size=self.selecting.get("page_size"),
            width=self.width,
            warn=self.warn,
        )
        self.print(text, "yaml" if form.kind == "default" else form.kind)
        return count

    @property
    def width(self) -> int | None:
        """How wide the terminal is that results are shown on; None where it is none."""
        return get_terminal_size().columns if sys.stdout.isatty() else None

    def print(self, text: str, kind: str = "value") -> None:
        """Print a result as it is; on a terminal in colour, and so that no data can steer it."""
        if self.silent:
            return
        shown = for_terminal(text) if sys.stdout.isatty() else text
        if colours.are_wanted(sys.stdout, self.environment):
            shown = colours.of_result(shown, kind)
        click.echo(shown, nl=False, color=True)  # or else click takes escape sequences out

    def print_styled(self, text: str) -> None:
        """Print a text of our own that has styles, without them where they are not wanted."""
        wanted = colours.are_wanted(sys.stdout, self.environment)
        if self.silent:
            return
        click.echo(text if wanted else click.unstyle(text), nl=False, color=True)

    def show_changed(self, records: Sequence[Any]) -> None:
        """Print what was created or updated, if the command line says how."""
        if records and self.given.get("format"):
            self.show_all(records)

    def tell(self, text: str) -> None:
        """Print a line on standard error, unless nothing is to be told but errors."""
        if not self.silent:
            tell(text, self.environment)

    def warn(self, message: Warning | str, *_: Any) -> None:
        """Print a warning as one line; in place of ``warnings.showwarning``."""
        self.tell(f"WARNING: {one_line(message)}")

    def fail(self, error: object) -> None:
        """Print an error as one line, with the command, the canonical code and what to do."""
        code, told = getattr(error, "code", "INTERNAL"), one_line(error)
        if isinstance(error, NotFound):
            told = of_missing(told, self.settings.project, self.known)
        command = command_of(click.get_current_context())
        tell(f"ERROR: ({command}) {code}: {told}", self.environment)

    def each(self, names: Iterable[str], act: Callable[[str], Any]) -> None:
        """Do something for each of several names; one that fails does not stop the others.

        The exit code is 1 if any failed. What is returned is printed, if the command line says how.
        """
        done, failed = [], False
        for name in names:
            try:
                result = act(name)
            except PubSubError as error:
                self.fail(error)
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
        """Delete resources of a kind, once that is agreed to."""
        self.confirm_deletion([full_name(each) for each in given])

        def one(each: str) -> None:
            name = full_name(each)
            self.call(lambda store: delete(store, name))
            self.tell(f"Deleted {what} [{name}].")

        self.each(given, one)

    def confirm_deletion(self, names: Sequence[str]) -> None:
        """Ask who sits at a terminal before something is deleted, unless ``--quiet`` is given.

        gcloud asks nobody, so a script is not asked either.
        """
        if self.settings.quiet or not sys.stdin.isatty():
            return
        told = "\n".join(f" - [{name}]" for name in names)
        self.tell(f"The following will be deleted:\n{told}")
        try:
            agreed = click.confirm("Do you want to continue", default=False, err=True)
        except click.Abort:  # there is nobody to ask any more
            self.tell("")
            agreed = False
        if not agreed:
            command = command_of(click.get_current_context())
            told = "Nothing was deleted; --quiet deletes without asking."
            tell(f"ERROR: ({command}) {told}", self.environment)
            raise click.exceptions.Exit(1)

    def format(self, default: str) -> Format:
        """Return how a result is shown: as the settings say, or as usual."""
        try:
            return usual_or_given(self.settings.format or "", default, self.selection, self.context)
        except InvalidArgument as error:  # one from the file; an option was checked before
            raise click.UsageError(str(error)) from None


def _open_store(settings: Settings) -> PubSub:
    from pubsub_delta.cli.session import open_store  # the store's modules, which a server spares

    return open_store(settings)


def _connect(settings: Settings) -> Service:
    if settings.log_level == "error":
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC reads it when it is loaded
    import_module("pubsub_delta.server.protocol")  # tells where its extra is not installed
    from pubsub_delta.cli.endpoint.client import connect  # the extra is needed here only

    return connect(settings)


def tell(text: str, environment: Mapping[str, str] = os.environ) -> None:
    """Print a line on standard error, on a terminal with its level in colour."""
    if colours.are_wanted(sys.stderr, environment):
        text = colours.of_line(text)
    click.echo(text, err=True, color=True)


def one_line(message: object) -> str:
    """Write a message on one line."""
    return printable(" ".join(str(message).split()))


def command_of(ctx: click.Context | None) -> str:
    """Return the name of a command as errors tell it: ``pubsub-delta.topics.create``."""
    return "pubsub-delta" if ctx is None else ctx.command_path.replace(" ", ".")
