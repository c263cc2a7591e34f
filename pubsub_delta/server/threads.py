"""Work that waits for a store, which a server does in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class InThread(Protocol):
    """Runs a function in a thread, and gives what it returns."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...
