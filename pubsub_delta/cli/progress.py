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


@contextmanager
def waiting(what: str, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Show on standard error what is going on, once it has taken so many seconds.

    Nothing is shown where standard error is not a terminal, and nothing is left behind.
    """
    if not sys.stderr.isatty():
        yield
        return
    # Its own descriptor: the usual one is turned away while a JVM starts.
    with os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as own:
        shown = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(file=own, force_terminal=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        shown.add_task(what, total=None)
        timer = threading.Timer(patience, shown.start)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            shown.stop()
