"""Signals that end a job: its summary is written before."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals by which schedulers, and terminals that end, end a job."""


class Ended(SystemExit):
    """A signal that ends a job; its exit code is the one that shells show: 143 of SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self._number = number

    def __str__(self) -> str:
        return f"by {signal.Signals(self._number).name}"


@contextmanager
def raising_at_signals() -> Iterator[None]:
    """Raise Ended at a signal that would end the process at once, without its summary.

    A signal that a platform handles, or that is ignored, as by ``nohup``, stays so.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        raise Ended(number)

    is_main = threading.current_thread() is threading.main_thread()
    usual = [each for each in _ENDING if is_main and signal.getsignal(each) is signal.SIG_DFL]
    for each in usual:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in usual:
            signal.signal(each, signal.SIG_DFL)
