"""A proxy before an object store: it counts requests, makes them slow, and makes them fail.

    python -m tests.storages.proxy PORT UPSTREAM [CERTIFICATE KEY]

A process of its own: a client in the process of a test may hold Python's lock while it waits. It is
told what to do, and asked what it saw, by requests to ``/-/…`` (``Proxied``).
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from urllib.request import Request, urlopen

CONTROL = "/-/"
_MOST_HEAD = 1 << 20

Action = Literal["refuse", "reset", "lose", "deny", "hold"]
"""What becomes of a request. ``refuse``: it is answered with a status, and never arrives.
``reset``: the connection ends, and it never arrives. ``lose``: it arrives, and the connection ends
instead of an answer. ``deny``: it arrives, and is answered with a status as if it had failed.
``hold``: it arrives, and its answer comes late."""


@dataclass
class Fault:
    """What becomes of requests of a method whose target matches a pattern.

    ``after``: so many of them pass first. ``times``: as often as that, None for ever. ``status``:
    of ``refuse`` and ``deny``. ``seconds``: of ``hold``.
    """

    action: Action
    method: str = "PUT"
    target: str = "."
    after: int = 0
    times: int | None = 1
    status: int = 503
    seconds: float = 0.0

    def takes(self, method: str, target: str) -> bool:
        """Tell whether a request is its, and count it."""
        if self.method not in ("*", method) or not re.search(self.target, target):
            return False
        if self.times == 0:
            return False
        if self.after:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class _Message:
    """A request or an answer: its first line, its headers as they stand, and its body."""

    first: str
    headers: list[bytes]
    body: bytes = b""
    told: dict[str, str] = field(default_factory=dict)


class Proxy:
    """Passes requests on, one connection to the store for each of a client's."""

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._delay = 0.0
        self._faults: list[Fault] = []
        self._seen: list[tuple[str, str, list[str]]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one client until it ends."""
        store: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            while (request := await _read_request(reader, writer)) is not None:
                method, target, _ = request.first.split(" ", 2)
                if target.startswith(CONTROL):
                    writer.write(self._controlled(target, request.body))
                    await writer.drain()
                    continue
                if store is None:
                    store = await asyncio.open_connection(*self._upstream)
                if not await self._pass_on(method, target, request, store, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            for each in (writer, *(() if store is None else store[1:])):
                each.close()

    async def _pass_on(
        self,
        method: str,
        target: str,
        request: _Message,
        store: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        client: asyncio.StreamWriter,
    ) -> bool:
        """Do with a request what is to be done; tell whether its connection goes on."""
        self._seen.append((method, target, sorted(request.told)))
        fault = next((each for each in self._faults if each.takes(method, target)), None)
        if self._delay:
            await asyncio.sleep(self._delay)
        if fault is not None and fault.action == "reset":
            client.transport.abort()
            return False
        if fault is not None and fault.action == "refuse":
            client.write(_answer(fault.status, _ERROR))
            await client.drain()
            return True
        store[1].write(_written(request))
        await store[1].drain()
        answer = await _read_answer(store[0], method)
        if fault is not None and fault.action == "lose":
            client.transport.abort()
            return False
        if fault is not None and fault.action == "deny":
            client.write(_answer(fault.status, _ERROR))
            await client.drain()
            return answer.told.get("connection", "").lower() != "close"
        if fault is not None and fault.action == "hold":
            await asyncio.sleep(fault.seconds)
        client.write(_written(answer))
        await client.drain()
        return answer.told.get("connection", "").lower() != "close"

    def _controlled(self, target: str, body: bytes) -> bytes:
        given: dict[str, Any] = json.loads(body or b"{}")
        if target == f"{CONTROL}set":
            self._delay = given["delay"]
            self._faults = [Fault(**each) for each in given["faults"]]
        told = {"seen": self._seen, "faults": [asdict(each) for each in self._faults]}
        if target == f"{CONTROL}take":
            self._seen = []
        return _answer(200, json.dumps(told).encode())


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> _Message | None:
    request = await _read_head(reader)
    if request is None:
        return None
    if request.told.pop("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.headers = [h for h in request.headers if not h.lower().startswith(b"expect:")]
    request.body = await _read_body(reader, request, until_end=False)
    return request


async def _read_answer(reader: asyncio.StreamReader, method: str) -> _Message:
    while True:
        answer = await _read_head(reader)
        if answer is None:
            raise ConnectionError("the store has ended the connection")
        status = int(answer.first.split(" ", 2)[1])
        if status >= 200:
            break
    if method != "HEAD" and status not in (204, 304):
        answer.body = await _read_body(reader, answer, until_end=True)
    return answer


async def _read_head(reader: asyncio.StreamReader) -> _Message | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *headers = head[:-4].split(b"\r\n")
    pairs = (header.decode("latin-1").partition(":") for header in headers)
    told = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return _Message(first.decode("latin-1"), headers, told=told)


async def _read_body(reader: asyncio.StreamReader, of: _Message, *, until_end: bool) -> bytes:
    """Read a body as it stands, its chunks included."""
    if "chunked" in of.told.get("transfer-encoding", "").lower():
        parts = []
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            parts += [line, await reader.readexactly(size + 2)]
            if size == 0:
                return b"".join(parts)
    if "content-length" in of.told:
        return await reader.readexactly(int(of.told["content-length"]))
    return await reader.read() if until_end else b""


def _written(message: _Message) -> bytes:
    head = [message.first.encode("latin-1"), *message.headers]
    return b"\r\n".join(head) + b"\r\n\r\n" + message.body


_ERROR = b"<Error><Code>SlowDown</Code></Error>"


def _answer(status: int, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} Told\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Proxied:
    """A proxy that runs, as tests speak to it.

    Args:
        endpoint: its URL.
        context: what trusts its certificate, where it has one.
    """

    def __init__(self, endpoint: str, context: ssl.SSLContext | None = None) -> None:
        self.endpoint = endpoint
        self._context = context

    def set(self, *faults: Fault, delay: float = 0.0) -> None:
        """Have every request take so many seconds more, and some of them fail; nothing else."""
        self._ask("set", {"delay": delay, "faults": [asdict(each) for each in faults]})

    def take(self) -> list[tuple[str, str]]:
        """Return method and target of the requests since this was asked last."""
        return [(method, target) for method, target, _ in self._ask("take")["seen"]]

    def take_headers(self) -> frozenset[str]:
        """Return the names of all headers that every request since this was asked last had."""
        seen = [frozenset(names) for _, _, names in self._ask("take")["seen"]]
        return frozenset.intersection(*seen)

    def left(self) -> list[Fault]:
        """Return the faults as they are now: how often each is still to happen."""
        return [Fault(**each) for each in self._ask("look")["faults"]]

    def _ask(self, what: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        url = f"{self.endpoint}{CONTROL}{what}"
        request = Request(url, data=json.dumps(given or {}).encode(), method="POST")
        with urlopen(request, timeout=30, context=self._context) as answer:
            told: dict[str, Any] = json.load(answer)
        return told


async def _main(port: int, upstream: str, certificate: tuple[str, ...]) -> None:
    host, _, upstream_port = upstream.partition("://")[2].partition(":")
    proxy = Proxy(host, int(upstream_port))
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
    server = await asyncio.start_server(
        proxy.serve, "127.0.0.1", port, limit=_MOST_HEAD, ssl=context
    )
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_main(int(sys.argv[1]), sys.argv[2], tuple(sys.argv[3:])))
