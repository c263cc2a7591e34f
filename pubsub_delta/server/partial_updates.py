"""Updates whose mask leads into a field: the rest of that field stays as it is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pubsub_delta.errors import Aborted

T = TypeVar("T")
R = TypeVar("R")

_ATTEMPTS = 20


async def update(
    mask: Any,
    read: Callable[[], Awaitable[R]],
    write: Callable[[R, R | None], Awaitable[T]],
) -> T:
    """Read a resource, and write the fields that an update mask names.

    With a path such as ``retry_policy.minimum_backoff`` the new value depends on the stored one. So
    the resource is read again if somebody has changed it in between. Aborted after ``_ATTEMPTS``
    such changes.

    Args:
        mask: the update mask.
        read: returns the stored resource.
        write: writes the fields, given the stored resource, and the one that must be stored still;
            Aborted if that has changed.
    """
    depends = any("." in path for path in mask.paths)
    for _ in range(_ATTEMPTS - 1):
        stored = await read()
        try:
            return await write(stored, stored if depends else None)
        except Aborted:
            if not depends:
                raise
    stored = await read()
    return await write(stored, stored)
