"""Runs blocking work on a store in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class InThread(Protocol):
    """Runs a function in a thread, and returns its result."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...
