"""HTTP/1.1 connections: requests one after the other, each limited in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from http.client import responses
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, needing_extra
from pubsub_delta.server.rest.encodings import decoder
from pubsub_delta.server.rest.responses import RequestHead, Response, error_response
from pubsub_delta.server.rest.transcoding import text_of

with needing_extra("server"):
    import h11

T = TypeVar("T")

_BROKEN = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError)
"""The errors of a connection that breaks; ssl.SSLError is an OSError."""

_READ = 65_536
"""Bytes of one read."""


@dataclass(frozen=True)
class Limits:
    """Timeouts in seconds, and sizes in bytes.

    ``idle``: until the next request begins. ``head``: until its request line and headers are
    complete. ``pause``: between two parts of a body. ``whole_body``: until the body is complete.
    ``sent``: until the client has read a response. ``head_size``, ``body_size``: the largest of
    each. ``large``: the number of bodies above ``small_size`` in memory, of all connections.
    """

    idle: float = 75.0
    head: float = 20.0
    pause: float = 20.0
    whole_body: float = 300.0
    sent: float = 60.0
    head_size: int = 32 * 1024
    body_size: int = 20 * 1024 * 1024
    small_size: int = 256 * 1024
    large: int = 4


class RequestHandler(Protocol):
    """Answers HTTP requests."""

    def refusal(self, head: RequestHead) -> Response | None:
        """Return the response to a request that is refused before its body is read, or None."""

    async def answer(self, head: RequestHead, body: bytes) -> Response:
        """Answer a request; cancelled if the client disconnects."""


class _TooLarge(Exception):
    """The body is larger than ``body_size``."""


class _TooSlow(Exception):
    """A timeout of the request has passed."""


class Connection:
    """One connection of a client.

    Args:
        reader: the bytes from the client.
        writer: the bytes to the client.
        answers: answers the requests.
        now: returns the time for the header Date, or raises FailedPrecondition.
        limits: timeouts and sizes.
        large: acquired while a large body is in memory.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: RequestHandler,
        now: Callable[[], datetime],
        limits: Limits,
        large: asyncio.Semaphore,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._answers = answers
        self._now = now
        self._limits = limits
        self._large = large
        self._http = h11.Connection(h11.SERVER, limits.head_size)
        self._verb = b""
        self._holds_large = False
        self._is_ending = False
        self._waiting: asyncio.Task[bytes] | None = None

    async def run(self) -> None:
        """Answer requests until the client disconnects, is too slow, or the server ends."""
        try:
            while await self._exchange():
                self._http.start_next_cycle()
        except _BROKEN:
            self._writer.transport.abort()
        finally:
            self._writer.close()
            with suppress(*_BROKEN):
                await self._writer.wait_closed()

    def end(self) -> None:
        """Close the connection, after the response to the current request."""
        self._is_ending = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def _exchange(self) -> bool:
        """Answer one request; return whether the connection stays open."""
        try:
            head = await self._head()
            if head is None:
                return False
            reply = self._answers.refusal(head) or await self._answered(head)
        except h11.RemoteProtocolError as error:
            reply = _http_error(error.error_status_hint, str(error))
        except _TooLarge:
            reply = error_response(_too_large(self._limits.body_size))
        except InvalidArgument as error:
            reply = error_response(error)
        except _TooSlow as error:
            reply = _http_error(408, str(error))
        finally:
            if self._holds_large:
                self._large.release()
                self._holds_large = False
        if reply is None:
            return False
        is_whole = self._is_whole()
        await self._reply(reply, closes=self._is_ending or not is_whole)
        if not is_whole:
            await self._drop_the_rest()
        return self._http.our_state is h11.DONE and not self._is_ending

    async def _head(self) -> RequestHead | None:
        """Read the request line and headers; None if no request comes."""
        event = self._http.next_event()
        if event is h11.NEED_DATA:
            if not self._http.trailing_data[0] and not await self._first_part():
                return None
            event = await _in_time(self._next_event(), self._limits.head)
        if not isinstance(event, h11.Request):
            return None
        self._verb = event.method
        return _head_of(event)

    async def _first_part(self) -> bool:
        """Wait for the first bytes of a request; False if none come."""
        if self._is_ending:
            return False
        self._waiting = asyncio.ensure_future(self._reader.read(_READ))
        try:
            part = await asyncio.wait_for(self._waiting, self._limits.idle)
        except asyncio.TimeoutError:
            return False
        except asyncio.CancelledError:
            if self._is_ending:
                return False
            raise
        finally:
            self._waiting = None
        self._http.receive_data(part)
        return bool(part)

    async def _next_event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_READ))
        return event

    async def _answered(self, head: RequestHead) -> Response | None:
        """Read the body and answer; None if the client disconnects meanwhile."""
        body = await _in_time(self._body(head), self._limits.whole_body)
        work = asyncio.ensure_future(self._answers.answer(head, body))
        gone = asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else None
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait({work, gone})

    async def _body(self, head: RequestHead) -> bytes:
        """Read and decompress the body; its limits are also those of what it decompresses to."""
        encoded = decoder(head.headers)
        if int(head.headers.get("content-length", 0)) > self._limits.body_size:
            raise _TooLarge
        if self._http.they_are_waiting_for_100_continue:
            ahead = h11.InformationalResponse(status_code=100, headers=[])
            self._writer.write(self._http.send(ahead) or b"")
        body, sent = bytearray(), 0
        while True:
            event = await _in_time(self._next_event(), self._limits.pause)
            if not isinstance(event, h11.Data):
                encoded.check_end()
                return bytes(body)
            sent += len(event.data)
            for part in encoded.parts(event.data):
                body += part
                if max(sent, len(body)) > self._limits.body_size:
                    raise _TooLarge
                if len(body) > self._limits.small_size and not self._holds_large:
                    await self._large.acquire()
                    self._holds_large = True

    async def _gone(self) -> None:
        """Wait until the client disconnects; bytes that it sends belong to the next request."""
        part = await self._reader.read(_READ)
        if part:
            self._http.receive_data(part)
            await asyncio.Event().wait()

    async def _reply(self, reply: Response, *, closes: bool) -> None:
        headers = {
            "Content-Type": reply.content_type,
            "Content-Length": str(len(reply.body)),
            **self._date(),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            **reply.headers,
            **({"Connection": "close"} if closes else {}),
        }
        phrase = responses.get(reply.status, "Client Closed Request")  # 499 is Google's extension
        events = [
            h11.Response(status_code=reply.status, reason=phrase, headers=list(headers.items())),
            *([] if self._verb == b"HEAD" else [h11.Data(data=reply.body)]),
            h11.EndOfMessage(),
        ]
        self._writer.write(b"".join(self._http.send(event) or b"" for event in events))
        await asyncio.wait_for(self._writer.drain(), self._limits.sent)

    def _date(self) -> dict[str, str]:
        """Return the header Date; none by a clock that cannot be right (RFC 9110, 6.6.1)."""
        try:
            return {"Date": format_datetime(self._now(), usegmt=True)}
        except FailedPrecondition:
            return {}

    def _is_whole(self) -> bool:
        """Return whether the whole request was received; drop the rest of its body."""
        with suppress(h11.RemoteProtocolError):
            while self._http.their_state is h11.SEND_BODY:
                if not isinstance(self._http.next_event(), (h11.Data, h11.EndOfMessage)):
                    return False
        return self._http.their_state in (h11.DONE, h11.MUST_CLOSE)

    async def _drop_the_rest(self) -> None:
        """Read and drop what the client still sends, for ``pause`` seconds.

        Closing a connection with unread bytes resets it, and the client may lose the response.
        """
        with suppress(OSError, NotImplementedError):  # TLS has no half-closed connections
            self._writer.write_eof()

        async def drop() -> None:
            while await self._reader.read(_READ):
                pass

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(drop(), self._limits.pause)


async def _in_time(work: Coroutine[Any, Any, T], seconds: float) -> T:
    try:
        return await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        raise _TooSlow(f"the request did not come within {seconds:g} seconds") from None


def _head_of(event: Any) -> RequestHead:
    headers: dict[str, str] = {}
    for name, value in event.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    target = event.target.decode("latin-1")
    if not target.startswith("/"):  # the absolute form, as for a proxy: http://host/path
        with suppress(ValueError):
            target = urlsplit(target)._replace(scheme="", netloc="").geturl()
    path, _, query = target.partition("?")
    return RequestHead(event.method.decode("latin-1"), path, query, headers)


def _too_large(most: int) -> InvalidArgument:
    return InvalidArgument(
        f"the body of the request is larger than {most:,} bytes; a request carries 10,000,000 "
        "bytes of messages at most, which are 13.4 million in base64"
    )


def _http_error(status: int, why: str) -> Response:
    """Return the response to a malformed or slow request."""
    code = {408: "DEADLINE_EXCEEDED", 501: "UNIMPLEMENTED"}.get(status, "INVALID_ARGUMENT")
    error = {"code": status, "message": f"HTTP: {why}", "status": code}
    return Response(status, text_of({"error": error}, pretty=True))


class Connections:
    """All HTTP/1.1 connections of a server."""

    def __init__(
        self, answers: RequestHandler, now: Callable[[], datetime], limits: Limits | None = None
    ) -> None:
        self._answers = answers
        self._now = now
        self._limits = limits or Limits()
        self._large = asyncio.Semaphore(self._limits.large)
        self._open: dict[Connection, asyncio.Task[None]] = {}

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        connection = Connection(reader, writer, self._answers, self._now, self._limits, self._large)
        self._open[connection] = asyncio.ensure_future(connection.run())
        try:
            await self._open[connection]
        finally:
            del self._open[connection]

    async def end(self, grace: float) -> None:
        """Close connections after their current response; wait ``grace`` seconds for that."""
        tasks = tuple(self._open.values())
        for each in tuple(self._open):
            each.end()
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
