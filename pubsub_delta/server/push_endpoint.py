"""The HTTP client of a push endpoint, with connections that are kept open."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy.push_window import LARGEST_SIZE
from pubsub_delta.server.push_requests import PushRequest

try:
    import httpcore
except ModuleNotFoundError as missing:
    raise FailedPrecondition(
        f"the module {missing.name} is not installed; pip install 'pubsub-delta[server]' "
        "installs it"
    ) from missing

logger = logging.getLogger("pubsub_delta.server")

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

        Redirects are not followed, and proxies of the environment are not used.

        Args:
            url: the push endpoint.
            request: the headers and the body.
            seconds: the time until the response is due.
        """
        codes: list[str] = []
        try:
            await asyncio.wait_for(self._exchange(url, request, codes), seconds)
        except (asyncio.TimeoutError, httpcore.TimeoutException):
            return codes[0] if codes else DEADLINE_EXCEEDED
        except Exception as error:
            logger.debug("%s: %s: %s", url.partition("?")[0], type(error).__name__, error)
            return codes[0] if codes else UNREACHABLE
        return codes[0]

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def _exchange(self, url: str, request: PushRequest, codes: list[str]) -> None:
        """Append the status code as soon as it comes, and read the rest of the response."""
        address, host = _address(url)
        headers = [("Host", host), *request.headers]
        stream = self._connections.stream("POST", address, headers=headers, content=request.body)
        with suppress(_Processing):
            async with stream as answer:
                connection = answer.extensions["network_stream"]
                if isinstance(connection, _Stream):
                    connection.answered(answer.status)
                codes.append(str(answer.status))
                read = 0
                async for part in answer.aiter_stream():
                    read += len(part)
                    if read > _MAX_BODY_READ:
                        return
            return
        codes.append("102")


class _Processing(Exception):
    """Status code 102. In HTTP another response follows it; Pub/Sub takes it as the response."""


class _Network(httpcore.AsyncNetworkBackend):
    """Opens connections that notice status code 102, which httpcore skips."""

    def __init__(self) -> None:
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        return _Stream(
            await self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        )


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that keeps the first bytes of the current response."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._begun = b""
        self._head_left = _MAX_HEAD_READ
        self._is_new = True

    def answered(self, status: int) -> None:
        """Note that the headers of a response are complete.

        RemoteProtocolError if the response came before its request: the endpoint has answered an
        earlier request twice.
        """
        self._head_left = 0
        first = _STATUS.match(self._begun)
        if first is None or not (int(first[1]) == status or first[1].startswith(b"1")):
            raise httpcore.RemoteProtocolError("the response came before its request")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read; _Processing if the status code is 102, RemoteProtocolError for endless headers."""
        reads_head = self._head_left > 0
        most = min(max_bytes, _HEAD_READ_AT_ONCE) if reads_head else max_bytes
        data: bytes = await self._stream.read(most, timeout)
        if reads_head:
            self._head_left -= len(data)
            if self._head_left <= 0:
                raise httpcore.RemoteProtocolError(f"headers of {_MAX_HEAD_READ:,} bytes or more")
        if len(self._begun) < _LENGTH_OF_A_CODE:
            self._begun += data[:_LENGTH_OF_A_CODE]
            if _PROCESSING.match(self._begun):
                raise _Processing
        return data

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
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> _Stream:
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
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


@cache
def _trust() -> ssl.SSLContext:
    """Return a TLS context that trusts the system's and Mozilla's authorities."""
    context: ssl.SSLContext = httpcore.default_ssl_context()
    return context
