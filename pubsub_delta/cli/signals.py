"""Signals that end a command: between two of its steps, and not in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
"""Ctrl+C, the end by another program, and the end of the terminal."""
_USUAL = (signal.SIG_DFL, signal.default_int_handler)


class EndingSignals:
    """Raises KeyboardInterrupt at a signal that ends a command, or after the step that it met.

    A commit that a signal interrupts has landed all the same, and nobody would know what it leased
    or wrote. A second Ctrl+C ends that step, too.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._has_come = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals in the block. One that is ignored, as by ``nohup``, stays so."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread handles signals
            return
        found = {each: signal.getsignal(each) for each in _ENDING}
        before = {each: handler for each, handler in found.items() if handler in _USUAL}
        for each in before:
            signal.signal(each, self._come)
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    @contextmanager
    def put_off(self) -> Iterator[None]:
        """Put signals off to the end of the block, which is one step."""
        self._steps += 1
        try:
            yield
        finally:
            self._steps -= 1
        self._end_if_asked()

    def _come(self, number: int, _frame: FrameType | None) -> None:
        is_impatient = self._has_come and number == signal.SIGINT
        self._has_come = True
        self._end_if_asked(is_impatient=is_impatient)

    def _end_if_asked(self, *, is_impatient: bool = False) -> None:
        if self._has_come and (is_impatient or not self._steps):
            self._has_come = False
            raise KeyboardInterrupt
