"""The front: one port for two protocols, told apart by the first bytes of a connection.

HTTP/2 begins with a preface that no request of HTTP/1.1 begins with. What begins so is gRPC: its
bytes are passed on, in both directions and as they are, to gRPC's own address, which is of this
process. The rest is HTTP/1.1. TLS ends here, for both.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

from pubsub_delta.errors import FailedPrecondition

logger = logging.getLogger("pubsub_delta.server")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client of HTTP/2 sends first (RFC 9113, 3.4)."""
MOST_CONNECTIONS = 4_000
FIRST_BYTES = 10.0
"""Seconds that a client has for its first bytes, and before them for the handshake of TLS."""
LAST_WORDS = 2.0
"""Seconds in which connections end by themselves when the server has ended."""
_FILES_OF_A_CONNECTION = 3
_OTHER_FILES = 256
_BACKLOG = 1024

_UNDECIDED = 64
"""Connections above the limit that may say what they speak, to be refused in its words."""
_NO_ROOM_JSON = (
    b'{"error": {"code": 503, "message": "too many connections", "status": "UNAVAILABLE"}}\n'
)
NO_ROOM_HTTP_1 = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
    b"Content-Type: application/json; charset=UTF-8\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_NO_ROOM_JSON), _NO_ROOM_JSON)
)
"""What a client of HTTP/1.1 is told where there is no room.

One of gRPC is told nothing: a connection that ends before it has begun lets it wait before it tries
again, and longer each time.
"""

Conversation = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Connect = Callable[[Callable[[], asyncio.Protocol]], Awaitable[object]]


class Front:
    """Listens at an address, and hands each connection to whom its protocol belongs.

    Args:
        grpc: connects to the address at which gRPC listens.
        http: what answers a connection of HTTP/1.1.
        tls: what connections are encrypted by; None for plaintext.
        most: so many connections at a time.
    """

    def __init__(
        self,
        grpc: Connect,
        http: Conversation,
        tls: ssl.SSLContext | None,
        most: int = MOST_CONNECTIONS,
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

    def listen(self, host: str, port: int) -> int:
        """Take an address; return the port. FailedPrecondition if it cannot be had.

        Nobody is answered before ``start``.
        """
        try:
            for each in _listening(host, port):
                self._sockets.append(each)
        except OSError as error:
            self._close_sockets()
            raise FailedPrecondition(
                f"{host}:{port} cannot be listened at ({error.strerror or error}); a free port of "
                "an address of this machine is accepted"
            ) from None
        return int(self._sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Begin to answer."""
        loop = asyncio.get_running_loop()
        for each in self._sockets:
            self._servers.append(
                await loop.create_server(lambda: _Arrival(self), sock=each, backlog=_BACKLOG)
            )

    def stop_listening(self) -> None:
        """Take no more connections; those that are there go on."""
        for server in self._servers:
            server.close()
        self._close_sockets()

    async def close(self) -> None:
        """End all connections, those of gRPC when its last words are passed on."""
        self.stop_listening()
        if self._open:
            self._emptied = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._emptied], timeout=LAST_WORDS)
        for transport in tuple(self._open):
            transport.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def takes(self, transport: asyncio.BaseTransport) -> bool:
        """Count a connection; tell whether it is one that there is room for.

        One that cannot even be refused in the words of its protocol is ended.
        """
        count = len(self._open)
        self._open.add(transport)
        has_room = count < self._most
        if not has_room:
            if not self._is_full:
                logger.warning("%d connections are open, and more are refused", count)
            self._is_full = True
        if not has_room and (self.tls is not None or count >= self._most + _UNDECIDED):
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
        return has_room

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """Count a connection no more."""
        self._open.discard(transport)
        self._is_full &= len(self._open) > self._most // 2
        if not self._open and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    async def encrypt(self, transport: Any, then: asyncio.Protocol) -> None:
        """Let a connection speak TLS, and a protocol go on with what that carries."""
        assert self.tls is not None
        loop = asyncio.get_running_loop()
        try:
            carried = await loop.start_tls(
                transport, then, self.tls, server_side=True, ssl_handshake_timeout=FIRST_BYTES
            )
        except (OSError, ssl.SSLError) as error:  # it speaks no TLS, trusts nobody, or is gone
            logger.debug("a connection has no TLS: %s", error)
            transport.abort()
            self.closed(transport)
            return
        if carried is not None:
            then.connection_made(carried)

    def converse(self, transport: Any, counted: Any, first: bytes) -> None:
        """Hand on a connection of HTTP/1.1, of which something was read."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        protocol = _Streams(self, reader, counted)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        protocol.data_received(first)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        self.run(self._http(reader, writer))

    async def join(self, transport: Any, counted: Any, first: bytes) -> None:
        """Hand on a connection of gRPC, of which something was read; it is not read meanwhile."""
        outer, inner = _Half(transport), _Half(None)
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
        """Do something beside."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _close_sockets(self) -> None:
        for each in self._sockets:
            each.close()
        self._sockets.clear()


class _Arrival(asyncio.Protocol):
    """A connection of which nobody knows yet what it speaks.

    ``counted``: the transport by which it is counted; TLS puts another one upon it.
    """

    def __init__(self, front: Front, counted: asyncio.BaseTransport | None = None) -> None:
        self._front = front
        self._counted = counted
        self._transport: Any = None
        self._first = b""
        self._is_taken = True
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if self._counted is None:
            self._counted = transport
            self._is_taken = self._front.takes(transport)
            _tune(transport)
            if self._is_taken and self._front.tls is not None:
                inside = _Arrival(self._front, transport)
                self._front.run(self._front.encrypt(transport, inside))
                return
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(FIRST_BYTES, self._transport.abort)
        self._decide()

    def data_received(self, data: bytes) -> None:
        self._first += data
        if self._transport is not None:  # with TLS the first bytes may come before it
            self._decide()

    def _decide(self) -> None:
        is_http_2 = self._first.startswith(PREFACE)
        if not is_http_2 and PREFACE.startswith(self._first):
            return  # it may still become either
        assert self._patience is not None
        self._patience.cancel()
        if not self._is_taken:
            if not is_http_2:
                self._transport.write(NO_ROOM_HTTP_1)
            self._transport.close()
        elif is_http_2:
            self._transport.pause_reading()
            self._front.run(self._front.join(self._transport, self._counted, self._first))
        else:
            self._front.converse(self._transport, self._counted, self._first)

    def connection_lost(self, _: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        assert self._counted is not None
        self._front.closed(self._counted)


class _Streams(asyncio.StreamReaderProtocol):
    """The streams of a connection of HTTP/1.1."""

    def __init__(self, front: Front, reader: asyncio.StreamReader, counted: Any) -> None:
        super().__init__(reader)
        self._front = front
        self._counted = counted

    def connection_lost(self, _: Exception | None) -> None:
        super().connection_lost(_)
        self._front.closed(self._counted)


class _Half(asyncio.Protocol):
    """One half of a connection of gRPC: what it hears, its peer says.

    Where the peer cannot say more, no more is heard.
    """

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.peer: _Half | None = None
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
    """Send what is written at once, and let the system notice that a client's machine is gone.

    asyncio does the first for sockets that name their protocol; those of ``create_server`` do not.
    """
    carrier = transport.get_extra_info("socket")
    with suppress(OSError):  # the client has gone already
        carrier.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        carrier.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket for each address of a host, all of one port.

    A host may have addresses that this machine has not, as localhost where there is no IPv6.
    """
    found = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    missing: OSError | None = None
    made = 0
    for family, address in dict.fromkeys((family, each[0]) for family, *_, each in found):
        both = address == "::" and socket.has_dualstack_ipv6()
        try:
            one = socket.create_server(
                (str(address), port), family=family, backlog=_BACKLOG, dualstack_ipv6=both
            )
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise
            missing = error
            continue
        port = one.getsockname()[1]
        made += 1
        yield one
    if not made and missing is not None:
        raise missing


def _affordable(most: int) -> int:
    """Return how many connections there can be; each has files, of which a process has not many.

    It may have more than it is given at first, and takes them.
    """
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
