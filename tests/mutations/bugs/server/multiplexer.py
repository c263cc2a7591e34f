"""Seeded bugs of ``server/multiplexer.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_open_files.py",
    "tests/unit/test_server_multiplexer.py",
    "tests/unit/test_server_connections.py",
    "tests/unit/test_server_connection_times.py",
)

BUGS = (
    Bug(
        "preface-in-two-parts",
        "A preface of HTTP/2 that comes in two parts is taken for HTTP/1.1.",
        "if not is_http_2 and PREFACE.startswith(self._first):",
        "if not is_http_2 and not self._first:",
    ),
    Bug(
        "front-holds-what-nobody-reads",
        "What a client does not read, and what gRPC does not, waits in the server without end.",
        "self.peer.transport.pause_reading()",
        "pass",
    ),
    Bug(
        "connections-without-end",
        "Any number of connections is taken.",
        "has_room = count < self._most",
        "has_room = True",
    ),
    Bug(
        "connection-of-grpc-counted-for-ever",
        "A connection of gRPC that has ended takes the room of another one.",
        "outer.ends_with = lambda: self.closed(counted)",
        "outer.ends_with = lambda: None",
    ),
    Bug(
        "last-words-of-grpc-lost",
        "What gRPC says at the end, such as why a stream ends, does not reach its client.",
        "await asyncio.wait([self._emptied], timeout=DRAIN_SECONDS)",
        "[transport.abort() for transport in tuple(self._open)]  # type: ignore[attr-defined]",
    ),
    Bug(
        "reply-waits-for-a-confirmation",
        "The system holds a reply back until the client has confirmed what was sent before.",
        "        carrier.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n",
        "",
    ),
    Bug(
        "silent-client-waited-for",
        "A client that connects and says nothing is waited for without end.",
        "self._timeout = loop.call_later(FIRST_BYTES_SECONDS, self._transport.abort)",
        "self._timeout = loop.call_later(3600, self._transport.abort)",
    ),
    Bug(
        "asyncio-logs-itself",
        "A server without a free file descriptor logs a thousand tracebacks a second.",
        "        loop.set_exception_handler(_LoopErrors())\n",
        "",
    ),
    Bug(
        "warns-each-second",
        "A server without a free file descriptor warns a thousand times a second.",
        "            self._next_warning = uptime() + _SECONDS_BETWEEN_WARNINGS\n",
        "",
    ),
    Bug(
        "connections-end-after-ten-seconds",
        "A connection ends ten seconds after it was made, whatever its client has sent.",
        "        assert self._timeout is not None\n        self._timeout.cancel()\n        if not",
        "        assert self._timeout is not None\n        if not",
    ),
    Bug(
        "every-connection-counts-as-one-file",
        "A server admits three times as many connections as its limit of open files allows.",
        "(soft - _OTHER_FILES) // _FILES_OF_A_CONNECTION)",
        "(soft - _OTHER_FILES))",
    ),
    Bug(
        "a-client-of-http-that-was-reset-is-not-noticed",
        "A call of HTTP goes on though the connection of its client was reset.",
        "        super().connection_lost(_)\n        self._multiplexer.closed(self._counted)\n",
        "        self._multiplexer.closed(self._counted)\n",
    ),
    Bug(
        "one-connection-on-windows",
        "Where files have no limit, or one that is high enough as it is, one connection is taken.",
        "limit\n        return most\n",
        "limit\n        return 1\n",
    ),
    Bug(
        "the-limit-of-files-is-lowered",
        "A server lowers the limit of open files of its process.",
        "if soft != resource.RLIM_INFINITY and soft < wanted:",
        "if soft != resource.RLIM_INFINITY:",
    ),
    Bug(
        "a-full-server-says-so-each-time",
        "A server that is full writes a line for each connection that it refuses.",
        "            self._is_full = True\n",
        "            self._is_full = False\n",
    ),
)
