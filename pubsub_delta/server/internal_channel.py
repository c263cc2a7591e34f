"""The internal channel: gRPC listens at addresses that only this process can reach."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pubsub_delta.server.grpc_services import grpc

HAS_PATHS = hasattr(socket, "AF_UNIX")
"""Whether the platform has Unix domain sockets."""

_UNIX, _LOOPBACK = "unix", "127.0.0.1"
_LONGEST_DIRECTORY = 90
"""Bytes; the path of a socket may have 103 on macOS and 107 on Linux."""

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


class InternalChannel:
    """The addresses of gRPC for the port multiplexer and the REST gateway: one for each server.

    They are Unix sockets in a directory that only this user can read. On Windows, or if there can
    be no such directory, they are ports of the loopback address. Calls need the token here, too.
    """

    def __init__(self, *, paths: bool = HAS_PATHS) -> None:
        self._paths = paths
        self._directory: TemporaryDirectory[str] | None = None
        self._addresses: list[str] = []
        self._turns = cycle(self._addresses)
        self._channel: Any = None

    def listen(self, servers: Iterable[Any]) -> None:
        """Bind each gRPC server to an address of its own."""
        self._directory = _directory() if self._paths else None
        self._addresses = [self._bound(each, number) for number, each in enumerate(servers)]
        self._turns = cycle(self._addresses)

    def open(self) -> None:
        """Open the channel for calls, once the servers have started."""
        self._channel = grpc.aio.insecure_channel(self._addresses[0], options=_OPTIONS)

    async def connect(self, protocol: Callable[[], asyncio.Protocol]) -> object:
        """Connect a protocol that proxies the bytes of a client: to each server in turn."""
        loop = asyncio.get_running_loop()
        kind, _, place = next(self._turns).partition(":")
        if kind == _UNIX:
            return await loop.create_unix_connection(protocol, place)
        return await loop.create_connection(protocol, kind, int(place))

    def unary_unary(self, method: str, **serializers: Any) -> Any:
        """Return a callable for a method, as ``grpc.aio.Channel`` does."""
        return self._channel.unary_unary(method, **serializers)

    async def close(self) -> None:
        """Close the channel, and delete the socket."""
        if self._channel is not None:
            await self._channel.close()
        if self._directory is not None:
            self._directory.cleanup()

    def _bound(self, server: Any, number: int) -> str:
        """Bind a server, and return its address."""
        if self._directory is None:
            return f"{_LOOPBACK}:{server.add_insecure_port(f'{_LOOPBACK}:0')}"
        address = f"{_UNIX}:{Path(self._directory.name) / f'grpc-{number}'}"
        server.add_insecure_port(address)
        return address


def _directory() -> TemporaryDirectory[str] | None:
    """Create a directory for a socket; None if that fails, or if its path is too long."""
    try:
        made = TemporaryDirectory(prefix="pubsub-delta-")
    except OSError:
        return None
    if len(os.fsencode(made.name)) <= _LONGEST_DIRECTORY:
        return made
    made.cleanup()
    return None
