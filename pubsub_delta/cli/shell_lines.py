"""The lines of a shell: reads commands of one line or more, and runs each by itself."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

import click

from pubsub_delta.cli.application import App, one_line
from pubsub_delta.cli.completion_names import ResourceNames

LEAVING = ("exit", "quit")
PREFIXES = (["gcloud", "pubsub"], ["pubsub-delta"])
"""Prefixes of copied commands, which are removed."""

PROMPT, CONTINUED = "pubsub-delta> ", "            > "

Read = Callable[[str], str]
"""Returns the next line for a prompt; raises EOFError at the end, KeyboardInterrupt to restart."""


class Shell:
    """Runs the lines of a shell, each as a command line of its own.

    Args:
        root: the command line.
        app: the App of the shell, with its global options.
    """

    def __init__(self, root: click.Command, app: App) -> None:
        self._root = root
        self._app = app
        self.names = ResourceNames(lambda: app.service, lambda: app.read_time("now"))

    def app_of_line(self) -> App:
        """Return the App for one line."""
        return self._app.for_line(self.names)

    def run(self, line: str) -> int:
        """Run one line and return its exit code; EOFError for ``exit`` and ``quit``."""
        try:
            words = without_prefix(shlex.split(line))
        except ValueError as error:
            problem = str(error)[:1].lower() + str(error)[1:]
            self._app.print_status(f"ERROR: (pubsub-delta.shell) {problem}: {one_line(line)}")
            return 2
        if not words:
            return 0
        if words[0] in LEAVING:
            raise EOFError
        if words[0] == "help":
            words = [*words[1:], "--help"]
        try:
            self._root.main(words, prog_name="pubsub-delta", obj=self.app_of_line())
        except SystemExit as done:
            return done.code if isinstance(done.code, int) else int(done.code is not None)
        except Exception as error:
            problem = one_line(f"{type(error).__name__}: {error}")
            self._app.print_status(f"ERROR: (pubsub-delta.shell) INTERNAL: {problem} (unexpected)")
            return 1
        finally:
            self.names.clear()
        return 0

    def run_all(self, read: Read) -> int:
        """Run all lines; return 1 if any failed, else 0."""
        failed = False
        try:
            for line in commands(read):
                failed = bool(self.run(line)) or failed
        except EOFError:
            pass
        return int(failed)


def without_prefix(words: Sequence[str]) -> list[str]:
    """Return a command without a prefix.

    >>> without_prefix(["gcloud", "pubsub", "topics", "list"])
    ['topics', 'list']
    """
    for prefix in PREFIXES:
        if list(words[: len(prefix)]) == prefix:
            return list(words[len(prefix) :])
    return list(words)


def commands(read: Read) -> Iterator[str]:
    """Yield complete commands; a line with a backslash at its end goes on in the next line.

    As in other shells, an even number of backslashes is a text, and nothing is put between lines.
    Empty lines, comments (``#``), and an unfinished command at Ctrl-C are skipped.
    """
    begun: list[str] = []
    while True:
        try:
            line = read(CONTINUED if begun else PROMPT).rstrip()
        except KeyboardInterrupt:
            begun = []
            continue
        except EOFError:
            if begun:
                yield "".join(begun).strip()
            return
        if not begun and line.lstrip().startswith("#"):
            continue
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        begun.append(line[:-1] if goes_on else line)
        if not goes_on:
            whole, begun = "".join(begun).strip(), []
            if whole:
                yield whole
