"""A spinner on a terminal, for whatever takes longer than a moment."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

PATIENCE_SECONDS = 2.0
"""Whatever takes longer shows that it is going on."""

_running: list[_Spinner] = []
"""The spinner of this process, if there is one."""


class _Spinner:
    """What is shown of something that goes on, once it has taken so many seconds."""

    def __init__(self, what: str, patience: float, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._what = what
        self._task = self._progress.add_task(what, total=None)
        self._timer = threading.Timer(patience, self._progress.start)
        self._timer.daemon = True
        self._timer.start()

    @contextmanager
    def saying(self, what: str) -> Iterator[None]:
        """Show what goes on within it, at once and for as long as that lasts."""
        self._progress.update(self._task, description=what)
        self._progress.start()
        try:
            yield
        finally:
            self._progress.update(self._task, description=self._what)

    def stop(self) -> None:
        """Show nothing any more."""
        self._timer.cancel()
        self._timer.join()
        self._progress.stop()


@contextmanager
def waiting(what: str, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
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
        spinner = _Spinner(what, patience, Console(file=own, force_terminal=True))
        _running.append(spinner)
        try:
            yield
        finally:
            _running.remove(spinner)
            spinner.stop()
