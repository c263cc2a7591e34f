"""Connections of gRPC take turns among several servers, as each accepts one call at a time."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc

from pubsub_delta.server.internal_channel import HAS_PATHS, InternalChannel
from pubsub_delta.server.listening import listen, port_of
from pubsub_delta.server.multiplexer import PortMultiplexer

SERVERS = 3
SEPARATE = [("grpc.use_local_subchannel_pool", 1)]


def numbered(number: int) -> grpc.aio.Server:
    """Return a server whose method tells its number."""

    async def tell(_request: bytes, _context: Any) -> bytes:
        return bytes([number])

    methods = {"Tell": grpc.unary_unary_rpc_method_handler(tell)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("of.Tests", methods)])
    return server


async def none(*_: Any) -> None:
    """No HTTP/1.1 is spoken here."""


async def asked_by_new_connections(port: int, count: int) -> list[int]:
    """Return the servers that answer so many connections, one after the other."""
    found = []
    for _ in range(count):
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=SEPARATE) as channel:
            found.append((await channel.unary_unary("/of.Tests/Tell")(b"", timeout=60))[0])
    return found


@pytest.mark.parametrize("paths", [False, *([True] if HAS_PATHS else [])])
def test_connections_take_turns_among_the_servers_of_grpc(paths: bool) -> None:
    """ "Each accepts one call at a time": so no client waits for the calls of all others."""

    async def test() -> None:
        internal, servers = InternalChannel(paths=paths), [numbered(n) for n in range(SERVERS)]
        async with AsyncExitStack() as open_:
            open_.push_async_callback(internal.close)
            internal.listen(servers)
            for each in servers:
                await each.start()
                open_.push_async_callback(each.stop, None)
            internal.open()
            sockets = listen("127.0.0.1", 0)
            multiplexer = PortMultiplexer(internal.connect, none, None)
            await multiplexer.start(sockets)
            open_.push_async_callback(multiplexer.close)
            found = await asked_by_new_connections(port_of(sockets), 2 * SERVERS)
            assert found == [0, 1, 2] * 2
            # what REST asks
            assert await internal.unary_unary("/of.Tests/Tell")(b"", timeout=60) == b"\0"

    asyncio.run(asyncio.wait_for(test(), 120))
