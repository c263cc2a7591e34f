"""The service that a store has nothing for: schemas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pubsub_delta.errors import NotFound, Unimplemented
from pubsub_delta.server.protocol import message_class


class Absent:
    """A service whose every method is refused, with the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, method: str) -> Callable[[Any, Any], Awaitable[Any]]:
        async def refuse(_request: Any, _context: Any) -> Any:
            raise Unimplemented(f"{method}: {self._why}")

        return refuse


class Schemas(Absent):
    """There are none: they are listed so, each that is looked up is not found, others refused."""

    async def list_schemas(self, _request: Any, _context: Any) -> Any:
        """Return the schemas of a project."""
        return message_class("ListSchemasResponse")()

    async def list_schema_revisions(self, request: Any, _context: Any) -> Any:
        """Raise NotFound."""
        raise _no_schema(request)

    async def get_schema(self, request: Any, _context: Any) -> Any:
        """Raise NotFound."""
        raise _no_schema(request)

    async def delete_schema(self, request: Any, _context: Any) -> Any:
        """Raise NotFound."""
        raise _no_schema(request)


def _no_schema(request: Any) -> NotFound:
    return NotFound(f"schema {request.name} does not exist; schemas are not supported")


SCHEMAS = Schemas("schemas are not supported; messages are bytes, and nothing checks them")
