"""The HTTP client of a push endpoint, with connections that are kept open."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import ssl
from asyncio.staggered import staggered_race
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from pubsub_delta.errors import needing_extra
from pubsub_delta.policy.push_window import LARGEST_SIZE
from pubsub_delta.server.name_lookups import NameLookups
from pubsub_delta.server.push_requests import PushRequest

with needing_extra("server"):
    import httpcore

logger = logging.getLogger("pubsub_delta.server")

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]

DEADLINE_EXCEEDED = "deadline_exceeded"
UNREACHABLE = "unreachable"
UNSIGNED = "unsigned"
"""The results without a status code: no response in time, no connection or no HTTP, and no request
because its token could not be signed.
"""

_KEPT_OPEN = 4.0
"""Seconds that an idle connection is kept; common servers close it later."""
_MAX_BODY_READ = 65_536
"""Bytes of a response body that are read."""
_MAX_HEAD_READ = 65_536
"""Bytes that are read until the headers of a response are complete, interim responses included."""
_HEAD_READ_AT_ONCE = 4_096
_EARLY_READ = 0.01
"""Seconds to tell early data from messages of TLS itself, such as session tickets."""
_NEXT_ADDRESS = 0.25
"""Seconds until the next address of a host is tried, beside the last one (RFC 8305)."""
_BODILESS = (204, 304)
"""Status codes whose responses end with their headers, whatever these say."""
_LAST_CHUNK = b"0\r\n\r\n"
_BLANK_LINE = re.compile(rb"\n\r?\n")
_PROCESSING = re.compile(rb"HTTP/1\.\d 102\b")
_STATUS = re.compile(rb"HTTP/\d\.\d (\d{3})")
_LENGTH_OF_A_CODE = len(b"HTTP/1.1 102 ")


class PushEndpoint:
    """The connections to one endpoint, one for each open request."""

    def __init__(self) -> None:
        self._connections = httpcore.AsyncConnectionPool(
            ssl_context=_trust(),
            max_connections=LARGEST_SIZE,
            keepalive_expiry=_KEPT_OPEN,
            network_backend=_Network(),
        )

    async def post(self, url: str, request: PushRequest, seconds: float) -> str:
        """Send a request; return the status code, or the reason why there was none in time.

        Redirects are not followed, and proxies of the environment are not used. One that is
        cancelled after the code has come returns it: the rest of a response does not matter.

        Args:
            url: the push endpoint.
            request: the headers and the body.
            seconds: the time until the response is due.
        """
        codes: list[str] = []
        try:
            await asyncio.wait_for(self._exchange_again(url, request, codes), seconds)
        except asyncio.CancelledError:  # the server ends
            if not codes:
                raise
        except (asyncio.TimeoutError, httpcore.TimeoutException):
            return codes[0] if codes else DEADLINE_EXCEEDED
        except Exception as error:
            logger.debug("%s: %s: %s", url.partition("?")[0], type(error).__name__, error)
            return codes[0] if codes else UNREACHABLE
        return codes[0]

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def _exchange_again(self, url: str, request: PushRequest, codes: list[str]) -> None:
        """Exchange; once more if the endpoint had closed the kept connection."""
        try:
            await self._exchange(url, request, codes)
        except _ClosedWhileKept:
            await self._exchange(url, request, codes)

    async def _exchange(self, url: str, request: PushRequest, codes: list[str]) -> None:
        """Append the status code as soon as it comes, and read the rest of the response."""
        address, host = _address(url)
        headers = [("Host", host), *request.headers]
        stream = self._connections.stream("POST", address, headers=headers, content=request.body)
        with suppress(_Processing):
            async with stream as answer:
                connection = answer.extensions["network_stream"]
                if isinstance(connection, _Stream):
                    connection.answered(answer.status, answer.headers)
                codes.append(str(answer.status))
                if answer.status in _BODILESS and _announces_body(answer.headers):
                    return  # it has a body that it cannot have, and its connection is closed
                read = 0
                async for part in answer.aiter_stream():
                    read += len(part)
                    if read > _MAX_BODY_READ:
                        return
            return
        codes.append("102")


class _Processing(Exception):
    """Status code 102. In HTTP another response follows it; Pub/Sub takes it as the response."""


class _ClosedWhileKept(httpcore.RemoteProtocolError):
    """A connection that was used before ended without a byte of a response.

    It is usually one that the endpoint closed while it was idle, and has no request of ours.
    """


class _Network(httpcore.AsyncNetworkBackend):
    """Opens connections that notice status code 102, which httpcore skips."""

    def __init__(self) -> None:
        self._network = httpcore.AnyIOBackend()
        self._lookups = NameLookups()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        def connect(address: str) -> Callable[[], Awaitable[Any]]:
            return lambda: self._network.connect_tcp(
                address, port, timeout, local_address, socket_options
            )

        addresses = await self._addresses(host)
        found, _, errors = await staggered_race(map(connect, addresses), _NEXT_ADDRESS)
        if found is None:
            raise next(each for each in errors if each is not None)
        return _Stream(found)

    async def _addresses(self, host: str) -> Sequence[str]:
        with suppress(ValueError):
            ipaddress.ip_address(host)
            return [host]
        return await self._lookups.addresses(host)


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that keeps the first bytes of the current response.

    A connection that has more than one response to a request is not used again, by its
    ``is_readable``: the rest would be taken for the beginning of the next response.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._begun = b""
        self._head_end = b""
        self._head_left = _MAX_HEAD_READ
        self._body_left: int | None = None
        self._body_end = b""
        self._rest = b""
        self._is_new = True
        self._has_answered = False

    def answered(self, status: int, headers: Headers) -> None:
        """Note that the headers of a response are complete.

        RemoteProtocolError if the response came before its request: the endpoint has answered an
        earlier request twice.
        """
        self._has_answered = True
        self._head_left = 0
        self._body_left = _length_of_body(headers)
        first = _STATUS.match(self._begun)
        if first is None or not (int(first[1]) == status or first[1].startswith(b"1")):
            raise httpcore.RemoteProtocolError("the response came before its request")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read; _Processing if the status code is 102, RemoteProtocolError for endless headers."""
        if self._head_left <= 0:
            return await self._read_body(max_bytes, timeout)
        data = await self._read_head(min(max_bytes, _HEAD_READ_AT_ONCE), timeout)
        data = self._up_to_blank_line(data)
        self._head_left -= len(data)
        if self._head_left <= 0:
            raise httpcore.RemoteProtocolError(f"headers of {_MAX_HEAD_READ:,} bytes or more")
        if len(self._begun) < _LENGTH_OF_A_CODE:
            self._begun += data[:_LENGTH_OF_A_CODE]
            if _PROCESSING.match(self._begun):
                raise _Processing
        return data

    async def _read_head(self, most: int, timeout: float | None) -> bytes:
        """Read; _ClosedWhileKept if a connection that was kept has ended."""
        data = b""
        with suppress(httpcore.ReadError):
            data = await self._next(most, timeout)
        if not data and not self._begun and self._has_answered:
            raise _ClosedWhileKept
        return data

    async def _read_body(self, max_bytes: int, timeout: float | None) -> bytes:
        """Read, up to the end of a body whose length is known."""
        if self._body_left is None:
            data = await self._next(max_bytes, timeout)
            self._body_end = (self._body_end + data)[-len(_LAST_CHUNK) :]
            return data
        data = await self._next(min(max_bytes, max(self._body_left, 1)), timeout)
        self._body_left -= len(data)
        return data

    async def _next(self, most: int, timeout: float | None) -> bytes:
        if self._rest:
            data, self._rest = self._rest[:most], self._rest[most:]
            return data
        read: bytes = await self._stream.read(most, timeout)
        return read

    def _up_to_blank_line(self, data: bytes) -> bytes:
        """Return what belongs to the head of a response, and keep the rest."""
        end = _BLANK_LINE.search(self._head_end + data)
        if end is None:
            self._head_end = (self._head_end + data)[-2:]
            return data
        length = end.end() - len(self._head_end)
        self._head_end = b""
        self._rest = data[length:] + self._rest
        return data[:length]

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write; RemoteProtocolError if a new connection has data before its first request.

        httpcore itself does not reuse a connection that has some.
        """
        if self._is_new and self._stream.get_extra_info("is_readable"):
            with suppress(httpcore.ReadTimeout):
                if await self._stream.read(1, _EARLY_READ):
                    raise httpcore.RemoteProtocolError("the response came before its request")
        self._is_new = False
        self._begun, self._head_left = b"", _MAX_HEAD_READ
        self._head_end = self._body_end = b""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> _Stream:
        try:
            return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))
        except BaseException:  # httpcore keeps it where the time of the request ends the handshake
            await self.aclose()
            raise

    def get_extra_info(self, info: str) -> Any:
        has_rest = self._rest or self._body_end not in (b"", _LAST_CHUNK)
        if info == "is_readable" and has_rest:
            return True
        return self._stream.get_extra_info(info)


def _address(url: str) -> tuple[httpcore.URL, str]:
    """Return a URL for httpcore, and its Host header.

    httpcore itself leaves out what follows a semicolon in the last part of a path, and the
    brackets of an IPv6 address; ``urlsplit`` leaves out a question mark without a query.

    >>> address, host = _address("http://[::1]:8080/push;v=1?token=abc")
    >>> address.target, host
    (b'/push;v=1?token=abc', '[::1]:8080')
    """
    parts = urlsplit(url)
    name = parts.hostname or ""
    target = f"{parts.path or '/'}?{parts.query}" if "?" in url else parts.path or "/"
    address = httpcore.URL(scheme=parts.scheme, host=name, port=parts.port, target=target)
    host = f"[{name}]" if ":" in name else name
    is_default = parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme))
    return address, host if is_default else f"{host}:{parts.port}"


def _announces_body(headers: Headers) -> bool:
    names = {name.lower() for name, _ in headers}
    return b"transfer-encoding" in names or _length_of_body(headers) not in (None, 0)


def _length_of_body(headers: Headers) -> int | None:
    """Return the length of a body by its headers, which httpcore has checked; None without one."""
    found = {name.lower(): value for name, value in headers}
    if b"transfer-encoding" in found or b"content-length" not in found:
        return None
    return int(found[b"content-length"].split(b",")[0])


@cache
def _trust() -> ssl.SSLContext:
    """Return a TLS context that trusts the system's and Mozilla's authorities."""
    context: ssl.SSLContext = httpcore.default_ssl_context()
    return context
