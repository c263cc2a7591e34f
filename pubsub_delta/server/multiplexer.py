"""Multiplexes one port: the first bytes of a connection distinguish gRPC (HTTP/2) from HTTP/1.1.

HTTP/2 begins with a preface that no request of HTTP/1.1 begins with. The bytes of such a connection
are proxied to the internal address of gRPC. Every other connection is HTTP/1.1. TLS ends here for
both protocols.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from pubsub_delta.clock import uptime
from pubsub_delta.server.listening import BACKLOG

logger = logging.getLogger("pubsub_delta.server")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""The first bytes of an HTTP/2 client (RFC 9113, section 3.4)."""
MAX_CONNECTIONS = 4_000
FIRST_BYTES_SECONDS = 10.0
"""The timeout of the TLS handshake, and then of a client's first bytes."""
DRAIN_SECONDS = 2.0
"""The time that open connections have to end after the server has ended."""
_FILES_OF_A_CONNECTION = 3
_OTHER_FILES = 256

_SECONDS_BETWEEN_WARNINGS = 60.0

_UNDECIDED = 64
"""Connections above the limit whose protocol is read, so that the refusal can be in it."""
_TOO_MANY_CONNECTIONS_JSON = (
    b'{"error": {"code": 503, "message": "too many connections", "status": "UNAVAILABLE"}}\n'
)
TOO_MANY_CONNECTIONS_HTTP = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
    b"Content-Type: application/json; charset=UTF-8\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_TOO_MANY_CONNECTIONS_JSON), _TOO_MANY_CONNECTIONS_JSON)
)
"""The response to an HTTP/1.1 client above the limit of connections.

A connection of gRPC is closed without a response: then its client backs off before the next try.
"""

ServeHttp = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Connect = Callable[[Callable[[], asyncio.Protocol]], Awaitable[object]]


class PortMultiplexer:
    """Listens at a port, and passes each connection to gRPC or to the HTTP/1.1 server.

    Args:
        grpc: connects to the internal address of gRPC.
        http: serves a connection of HTTP/1.1.
        tls: the TLS context; None for plaintext.
        most: the largest number of open connections.
    """

    def __init__(
        self,
        grpc: Connect,
        http: ServeHttp,
        tls: ssl.SSLContext | None,
        most: int = MAX_CONNECTIONS,
    ) -> None:
        self.tls = tls
        self._grpc = grpc
        self._http = http
        self._most = _affordable(most)
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []
        self._open: set[asyncio.BaseTransport] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_full = False
        self._emptied: asyncio.Future[None] | None = None

    async def start(self, sockets: Iterable[socket.socket]) -> None:
        """Start to accept connections of sockets that listen."""
        self._sockets = list(sockets)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_LoopErrors())
        for each in self._sockets:
            self._servers.append(
                await loop.create_server(
                    lambda: _UndecidedConnection(self), sock=each, backlog=BACKLOG
                )
            )

    def stop_listening(self) -> None:
        """Accept no more connections; open ones go on."""
        for server in self._servers:
            server.close()
        self._close_sockets()

    async def close(self) -> None:
        """Close all connections, after ``DRAIN_SECONDS`` for the last bytes of gRPC."""
        self.stop_listening()
        if self._open:
            self._emptied = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._emptied], timeout=DRAIN_SECONDS)
        for transport in tuple(self._open):
            transport.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def admit(self, transport: asyncio.BaseTransport) -> bool:
        """Count a new connection, and return whether it is within the limit.

        A connection that cannot be refused in its own protocol is aborted.
        """
        count = len(self._open)
        self._open.add(transport)
        has_room = count < self._most
        if not has_room:
            if not self._is_full:
                logger.warning("%d connections are open; more are refused", count)
            self._is_full = True
        if not has_room and (self.tls is not None or count >= self._most + _UNDECIDED):
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
        return has_room

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """Stop counting a connection that is closed."""
        self._open.discard(transport)
        self._is_full &= len(self._open) > self._most // 2
        if not self._open and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    async def encrypt(self, transport: Any, then: asyncio.Protocol) -> None:
        """Start TLS on a connection, and give the decrypted bytes to a protocol."""
        assert self.tls is not None
        loop = asyncio.get_running_loop()
        try:
            carried = await loop.start_tls(
                transport,
                then,
                self.tls,
                server_side=True,
                ssl_handshake_timeout=FIRST_BYTES_SECONDS,
            )
        except OSError as error:  # no TLS, a certificate that it does not trust, or closed
            logger.debug("a connection has no TLS: %s", error)
            transport.abort()
            self.closed(transport)
            return
        if carried is not None:
            then.connection_made(carried)

    def serve_http(self, transport: Any, counted: Any, first: bytes) -> None:
        """Serve an HTTP/1.1 connection whose first bytes were read."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        protocol = _Streams(self, reader, counted)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        protocol.data_received(first)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        self.run(self._http(reader, writer))

    async def proxy_grpc(self, transport: Any, counted: Any, first: bytes) -> None:
        """Proxy a gRPC connection whose first bytes were read; reading is paused meanwhile."""
        outer, inner = _ProxyProtocol(transport), _ProxyProtocol(None)
        outer.peer, inner.peer = inner, outer
        outer.ends_with = lambda: self.closed(counted)
        try:
            await self._grpc(lambda: inner)
        except OSError as error:  # gRPC has stopped listening
            logger.debug("a connection of gRPC was not taken: %s", error)
            transport.close()
            return
        inner.transport.write(first)
        if transport.is_closing():
            inner.transport.close()
            return
        transport.set_protocol(outer)
        transport.resume_reading()

    def run(self, work: Awaitable[None]) -> None:
        """Run a coroutine in a task that ``close`` cancels."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _close_sockets(self) -> None:
        for each in self._sockets:
            each.close()
        self._sockets.clear()


class _LoopErrors:
    """Logs the errors of an event loop, and once a minute that no connection can be accepted.

    asyncio itself logs a traceback for each place of the backlog, every second.
    """

    def __init__(self) -> None:
        self._next_warning = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "socket" not in context:  # it has one where a connection cannot be accepted
            loop.default_exception_handler(context)
        elif uptime() >= self._next_warning:
            self._next_warning = uptime() + _SECONDS_BETWEEN_WARNINGS
            logger.warning(
                "no connection can be accepted, and new ones wait: %s; the limit of open files "
                "(ulimit -n) can be raised",
                context["exception"],
            )


class _UndecidedConnection(asyncio.Protocol):
    """A connection whose protocol is not known yet.

    ``counted``: the transport that is counted; with TLS it is below the transport that is read.
    """

    def __init__(
        self, multiplexer: PortMultiplexer, counted: asyncio.BaseTransport | None = None
    ) -> None:
        self._multiplexer = multiplexer
        self._counted = counted
        self._transport: Any = None
        self._first = b""
        self._is_admitted = True
        self._timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if self._counted is None:
            self._counted = transport
            self._is_admitted = self._multiplexer.admit(transport)
            _tune(transport)
            if self._is_admitted and self._multiplexer.tls is not None:
                inside = _UndecidedConnection(self._multiplexer, transport)
                self._multiplexer.run(self._multiplexer.encrypt(transport, inside))
                return
        loop = asyncio.get_running_loop()
        self._timeout = loop.call_later(FIRST_BYTES_SECONDS, self._transport.abort)
        self._decide()

    def data_received(self, data: bytes) -> None:
        self._first += data
        if self._transport is not None:  # with TLS, bytes may come before connection_made
            self._decide()

    def _decide(self) -> None:
        is_http_2 = self._first.startswith(PREFACE)
        if not is_http_2 and PREFACE.startswith(self._first):
            return  # both are still possible
        assert self._timeout is not None
        self._timeout.cancel()
        if not self._is_admitted:
            if not is_http_2:
                self._transport.write(TOO_MANY_CONNECTIONS_HTTP)
            self._transport.close()
        elif is_http_2:
            self._transport.pause_reading()
            self._multiplexer.run(
                self._multiplexer.proxy_grpc(self._transport, self._counted, self._first)
            )
        else:
            self._multiplexer.serve_http(self._transport, self._counted, self._first)

    def connection_lost(self, _: Exception | None) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        assert self._counted is not None
        self._multiplexer.closed(self._counted)


class _Streams(asyncio.StreamReaderProtocol):
    """The asyncio streams of an HTTP/1.1 connection."""

    def __init__(
        self, multiplexer: PortMultiplexer, reader: asyncio.StreamReader, counted: Any
    ) -> None:
        super().__init__(reader)
        self._multiplexer = multiplexer
        self._counted = counted

    def connection_lost(self, _: Exception | None) -> None:
        super().connection_lost(_)
        self._multiplexer.closed(self._counted)


class _ProxyProtocol(asyncio.Protocol):
    """One direction of a proxied gRPC connection: what it reads, its peer writes.

    Reading pauses while the peer cannot write.
    """

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.peer: _ProxyProtocol | None = None
        self.ends_with: Callable[[], object] = lambda: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert self.peer is not None
        self.peer.transport.write(data)

    def pause_writing(self) -> None:
        assert self.peer is not None
        self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        assert self.peer is not None
        self.peer.transport.resume_reading()

    def connection_lost(self, _: Exception | None) -> None:
        self.ends_with()
        assert self.peer is not None
        self.peer.transport.close()


def _tune(transport: asyncio.BaseTransport) -> None:
    """Set TCP_NODELAY and SO_KEEPALIVE.

    asyncio sets TCP_NODELAY on sockets that name their protocol; those of ``create_server`` do not.
    """
    carrier = transport.get_extra_info("socket")
    with suppress(OSError):  # the client has closed the connection
        carrier.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        carrier.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _affordable(most: int) -> int:
    """Return how many connections the limit of open files allows, after raising that limit."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OTHER_FILES + most * _FILES_OF_A_CONNECTION
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return max(1, (soft - _OTHER_FILES) // _FILES_OF_A_CONNECTION) if soft < wanted else most
    return most
