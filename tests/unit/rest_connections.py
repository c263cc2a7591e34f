"""Connections of a REST gateway that echoes requests, and a client that writes bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.clock import UTC, CheckedClock, ManualClock
from pubsub_delta.errors import NotFound
from pubsub_delta.server.rest.connection import Connections, Limits
from pubsub_delta.server.rest.responses import RequestHead, Response, error_response

SOON = 20
"""Seconds that a test waits for what comes soon, before it gives up."""
QUICK = Limits(idle=0.3, head=0.3, pause=0.3, body_size=1_000, small_size=100)


@dataclass
class Echo:
    """Answers with the line and the body of a request; ``/wait`` waits for ever."""

    asked: list[str] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def refusal(self, head: RequestHead) -> Response | None:
        return error_response(NotFound("no such path")) if head.path == "/none" else None

    async def answer(self, head: RequestHead, body: bytes) -> Response:
        told = f"{head.verb} {head.path}?{head.query} {body.decode()}"
        self.asked.append(told)
        if head.path == "/list":
            told = head.headers["x-list"]
        if head.path == "/wait":
            self.waiting.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        return Response(200, told.encode(), "text/plain")


@dataclass
class Client:
    """A connection, and all that has come by it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, *parts: str | bytes) -> bytes:
        """Send something; return the head and the body of the next reply."""
        for part in parts:
            self.writer.write(part if isinstance(part, bytes) else part.encode())
            await self.writer.drain()
        return await self.reply()

    async def reply(self) -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        lengths = [
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        ]
        return head + await self.reader.readexactly(lengths[0] if lengths else 0)

    async def is_closed(self) -> bool:
        return await self.reader.read(1) == b""


@asynccontextmanager
async def connections(limits: Limits, echo: Echo, year: int) -> AsyncIterator[Any]:
    """Listen; give what makes a client, and what ends the server."""
    clock = CheckedClock(ManualClock(datetime(year, 1, 1, tzinfo=UTC)))
    all_of_them = Connections(echo, clock.now, limits)
    server = await asyncio.start_server(all_of_them.converse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    clients: list[Client] = []

    async def connect() -> Client:
        clients.append(Client(*await asyncio.open_connection("127.0.0.1", port)))
        return clients[-1]

    try:
        yield connect, all_of_them
    finally:
        for client in clients:
            client.writer.close()
        server.close()


def over(
    test: Callable[[Any, Echo, Connections], Awaitable[None]],
    limits: Limits = QUICK,
    year: int = 2026,
) -> None:
    async def run() -> None:
        echo = Echo()
        async with connections(limits, echo, year) as (connect, all_of_them):
            await asyncio.wait_for(test(connect, echo, all_of_them), SOON)

    asyncio.run(run())
