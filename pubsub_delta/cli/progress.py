"""A spinner on a terminal, for whatever takes longer than a moment."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:  # rich is imported where something is shown: most commands are done before
    from rich.progress import Progress, TaskID

WAIT_SECONDS = 2.0
"""Whatever takes longer shows that it is going on."""

_running: list[_Spinner] = []
"""The spinner of this process, if there is one."""


class _Spinner:
    """What is shown of something that goes on, once it has taken so many seconds."""

    def __init__(self, what: str, delay: float, file: IO[str]) -> None:
        self._what = what
        self._file = file
        self._lock = threading.Lock()
        self._shown: tuple[Progress, TaskID] | None = None
        self._timer = threading.Timer(delay, self._show)
        self._timer.daemon = True
        self._timer.start()

    def say(self, what: str) -> None:
        """Tell what goes on, as soon as anything is shown."""
        with self._lock:
            self._what = what
            if self._shown is not None:
                progress, task = self._shown
                progress.update(task, description=what)

    @contextmanager
    def saying(self, what: str) -> Iterator[None]:
        """Show what goes on within it, at once and for as long as that lasts."""
        before = self._what
        self.say(what)
        self._show()
        try:
            yield
        finally:
            self.say(before)

    def stop(self) -> None:
        """Show nothing any more."""
        self._timer.cancel()
        self._timer.join()
        if self._shown is not None:
            self._shown[0].stop()

    def _show(self) -> None:
        with self._lock:
            if self._shown is None:
                self._shown = _started(self._what, self._file)


def _started(what: str, file: IO[str]) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=file, force_terminal=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = progress.add_task(what, total=None)
    progress.start()
    return progress, task


@contextmanager
def waiting(what: str, delay: float = WAIT_SECONDS) -> Iterator[None]:
    """Show on standard error what is going on, once it has taken so many seconds.

    Within another ``waiting`` it is shown in its place, at once. Nothing is shown where standard
    error is not a terminal, and nothing is left behind.
    """
    if not sys.stderr.isatty():
        yield
        return
    if _running:
        with _running[-1].saying(what):
            yield
        return
    # Its own descriptor: the usual one is turned away while a JVM starts.
    with os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as own:
        spinner = _Spinner(what, delay, own)
        _running.append(spinner)
        try:
            yield
        finally:
            _running.remove(spinner)
            spinner.stop()


def say(what: str) -> None:
    """Tell how far that is which is going on, where a ``waiting`` shows it."""
    if _running:
        _running[-1].say(what)
