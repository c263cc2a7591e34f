"""The service that a store has nothing for: IAM."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pubsub_delta.errors import Unimplemented


class Absent:
    """A service whose every method is refused, with the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, method: str) -> Callable[[Any, Any], Awaitable[Any]]:
        async def refuse(_request: Any, _context: Any) -> Any:
            raise Unimplemented(f"{method}: {self._why}")

        return refuse


IAM = Absent(
    "permissions are not kept here; who may read and write is decided by the storage or the "
    "catalog, and by the server's token"
)
