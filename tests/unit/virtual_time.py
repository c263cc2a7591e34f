"""An event loop whose time passes at once while nothing is to be done."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from tests.unit.builders import START

T = TypeVar("T")


class Stuck(Exception):
    """Everybody waits for somebody else, for ever."""


class _Selector(selectors.SelectSelector):
    """Waits for nobody: the time that it would have waited has passed."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Stuck("everybody waits for somebody else, for ever")
            self.passed += max(timeout, 0)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that begins at 0 seconds; threads would be late for it."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.passed


class VirtualClock:
    """The clock of a store whose server runs in such a loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        return START + timedelta(microseconds=round(self._loop.time() * 1e6))


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program to its end in virtual time; Stuck if it never comes."""
    loop = VirtualTimeLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(_ended(left))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
