"""A spinner on a terminal for work that takes more than a moment."""

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
"""The delay before the spinner is shown."""

_running: list[_Spinner] = []
"""The running spinner of this process, if there is one."""


class _Spinner:
    """A spinner that is shown after a delay in seconds."""

    def __init__(self, what: str, delay: float, file: IO[str]) -> None:
        self._what = what
        self._file = file
        self._lock = threading.Lock()
        self._display: tuple[Progress, TaskID] | None = None
        self._timer = threading.Timer(delay, self._show)
        self._timer.daemon = True
        self._timer.start()

    def describe(self, what: str) -> None:
        """Set the description."""
        with self._lock:
            self._what = what
            if self._display is not None:
                progress, task = self._display
                progress.update(task, description=what)

    @contextmanager
    def described(self, what: str) -> Iterator[None]:
        """Show another description at once, for the time of the block."""
        before = self._what
        self.describe(what)
        self._show()
        try:
            yield
        finally:
            self.describe(before)

    def stop(self) -> None:
        """Stop and remove the spinner."""
        self._timer.cancel()
        self._timer.join()
        if self._display is not None:
            self._display[0].stop()

    def _show(self) -> None:
        with self._lock:
            if self._display is None:
                self._display = _started(self._what, self._file)


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
    """Show a spinner on standard error during the block, after ``delay`` seconds.

    Inside another ``waiting`` it replaces the description at once. If standard error is not a
    terminal, nothing is shown.
    """
    if not sys.stderr.isatty():
        yield
        return
    if _running:
        with _running[-1].described(what):
            yield
        return
    # A duplicate descriptor: descriptor 2 is redirected while a JVM starts.
    with os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as own:
        spinner = _Spinner(what, delay, own)
        _running.append(spinner)
        try:
            yield
        finally:
            _running.remove(spinner)
            spinner.stop()


def describe(what: str) -> None:
    """Set the description of the running spinner, if there is one."""
    if _running:
        _running[-1].describe(what)
