"""The internal channel: gRPC listens at an address that only this process can reach."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pubsub_delta.server.grpc_services import grpc

HAS_PATHS = hasattr(socket, "AF_UNIX")
"""Whether the platform has Unix domain sockets."""

_LONGEST_DIRECTORY = 90
"""Bytes; the path of a socket may have 103 on macOS and 107 on Linux."""

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


class InternalChannel:
    """The address of gRPC for the port multiplexer and the REST gateway.

    It is a Unix socket in a directory that only this user can read. On Windows, or if there can be
    no such directory, it is a port of the loopback address. Calls need the token here, too.
    """

    def __init__(self, *, paths: bool = HAS_PATHS) -> None:
        self._paths = paths
        self._directory: TemporaryDirectory[str] | None = None
        self._port = 0
        self._channel: Any = None

    def listen(self, server: Any) -> None:
        """Bind a gRPC server to the address."""
        self._directory = _directory() if self._paths else None
        self._port = server.add_insecure_port(self._address)

    def open(self) -> None:
        """Open the channel for calls, once the server has started."""
        self._channel = grpc.aio.insecure_channel(self._address, options=_OPTIONS)

    async def connect(self, protocol: Callable[[], asyncio.Protocol]) -> object:
        """Connect a protocol that proxies the bytes of a client."""
        loop = asyncio.get_running_loop()
        if self._directory is None:
            return await loop.create_connection(protocol, "127.0.0.1", self._port)
        return await loop.create_unix_connection(protocol, str(self._path))

    def unary_unary(self, method: str, **serializers: Any) -> Any:
        """Return a callable for a method, as ``grpc.aio.Channel`` does."""
        return self._channel.unary_unary(method, **serializers)

    async def close(self) -> None:
        """Close the channel, and delete the socket."""
        if self._channel is not None:
            await self._channel.close()
        if self._directory is not None:
            self._directory.cleanup()

    @property
    def _address(self) -> str:
        return f"127.0.0.1:{self._port}" if self._directory is None else f"unix:{self._path}"

    @property
    def _path(self) -> Path:
        assert self._directory is not None
        return Path(self._directory.name) / "grpc"


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
