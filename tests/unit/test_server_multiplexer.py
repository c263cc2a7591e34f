"""One port for gRPC and for HTTP/1.1: which connection goes where, in plaintext and in TLS."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc

from pubsub_delta.server import multiplexer as multiplexer_module
from pubsub_delta.server.internal_channel import HAS_PATHS, InternalChannel
from pubsub_delta.server.listening import listen, port_of
from pubsub_delta.server.multiplexer import PREFACE, PortMultiplexer
from pubsub_delta.server.security import Security
from tests.unit.serving import LONG, SUBSCRIPTION, MemoryStore, clients, serving
from tests.unit.test_server_command import certificate

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Inner:
    """In the place of gRPC: notes down what it hears, and says it back."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self.ended = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []
        self.reads = True
        self._port = 0

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._echo, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        return server

    async def connect(self, protocol: Callable[[], asyncio.Protocol]) -> object:
        loop = asyncio.get_running_loop()
        return await loop.create_connection(protocol, "127.0.0.1", self._port)

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(ConnectionError):
            while self.reads and (part := await reader.read(65_536)):
                self.heard += part
                writer.write(part)
                await writer.drain()
            self.ended.set()


async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """In the place of HTTP/1.1: says back one line, marked."""
    writer.write(b"http: " + await reader.readline())
    await writer.drain()
    writer.close()


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[tuple[int, Inner, PortMultiplexer]]:
    """Run a multiplexer; give its port, and what is in the place of gRPC."""
    inner = Inner()
    server = await inner.start()
    multiplexer = PortMultiplexer(inner.connect, http, **{"tls": None, **options})
    sockets = listen("127.0.0.1", 0)
    await multiplexer.start(sockets)
    try:
        yield port_of(sockets), inner, multiplexer
    finally:
        await multiplexer.close()
        server.close()


def over(test: Callable[[int, Inner, PortMultiplexer], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        async with running(**options) as (port, inner, multiplexer):
            await asyncio.wait_for(test(port, inner, multiplexer), LONG)

    asyncio.run(run())


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connected(port: int, *parts: bytes, **tls: Any) -> Streams:
    """Connect and send something, part by part."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, **tls)
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0.02)
    return reader, writer


@pytest.mark.parametrize("size", [1, 5, 24, 1000])
def test_what_begins_with_the_preface_of_http_2_is_passed_on_as_it_is(size: int) -> None:
    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        sent = PREFACE + b"\0" * 24
        reader, writer = await connected(
            port, *(sent[n : n + size] for n in range(0, len(sent), size))
        )
        assert await reader.readexactly(len(sent)) == sent
        assert bytes(inner.heard) == sent
        writer.close()
        await inner.ended.wait()

    over(test)


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n", b"PRI / HTTP/1.1\r\n", b"P\r\n", b"\n"])
def test_anything_else_is_http_1(sent: bytes) -> None:
    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        reader, _writer = await connected(port, *(bytes([each]) for each in sent))
        assert await reader.read() == b"http: " + sent
        assert not inner.heard

    over(test)


def test_a_connection_ends_on_both_sides_when_either_ends_it() -> None:
    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        reader, writer = await connected(port, PREFACE)
        await reader.readexactly(len(PREFACE))
        inner.writers[0].write(b"last words")
        inner.writers[0].close()
        assert await reader.read() == b"last words"
        writer.close()

    over(test)


def test_the_last_words_of_grpc_are_passed_on_when_the_server_ends() -> None:
    async def test(port: int, inner: Inner, multiplexer: PortMultiplexer) -> None:
        reader, _writer = await connected(port, PREFACE)
        await reader.readexactly(len(PREFACE))
        inner.writers[0].write(b"last words" * 100_000)
        inner.writers[0].close()
        ending = asyncio.ensure_future(multiplexer.close())
        assert await reader.read() == b"last words" * 100_000
        await ending

    over(test)


def test_nothing_is_heard_from_a_client_faster_than_grpc_takes_it() -> None:
    """Memory: what one side does not read waits with the other, not in the server."""

    async def test(port: int, inner: Inner, multiplexer: PortMultiplexer) -> None:
        inner.reads = False
        _reader, writer = await connected(port, PREFACE)
        while not inner.writers:
            await asyncio.sleep(0.01)
        sent = 0
        with suppress(asyncio.TimeoutError):
            while sent < 200_000_000:
                writer.write(b"x" * 1_000_000)
                await asyncio.wait_for(writer.drain(), 1)
                sent += 1_000_000
        assert sent < 50_000_000, "only what the buffers of the system hold"
        writer.transport.abort()

    over(test)


def test_what_is_written_is_sent_at_once() -> None:
    """Nagle's algorithm holds a second packet back until the client confirms the first: 40 ms."""

    async def test(port: int, inner: Inner, multiplexer: PortMultiplexer) -> None:
        reader, _writer = await connected(port, PREFACE)
        await reader.readexactly(len(PREFACE))
        (transport,) = multiplexer._open
        carrier = transport.get_extra_info("socket")
        assert carrier.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert carrier.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

    over(test)


def test_a_client_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplexer_module, "FIRST_BYTES_SECONDS", 0.2)

    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        for said in (b"", b"PRI * HTTP"):
            reader, _writer = await connected(port, said)
            with suppress(ConnectionError):
                assert await reader.read() == b""

    over(test)


def test_connections_above_the_limit_are_refused_in_words_of_their_protocol() -> None:
    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        kept = [await connected(port, PREFACE) for _ in range(2)]
        for reader, _writer in kept:
            await reader.readexactly(len(PREFACE))
        reader, _writer = await connected(port, b"GET / HTTP/1.1\r\n")
        head, _sep, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"Content-Length: %d" % len(body) in head
        assert json.loads(body)["error"]["message"] == "too many connections"
        reader, _writer = await connected(port, PREFACE)
        assert await reader.read() == b"", "a client of gRPC admit that for a failed attempt"
        # One that has gone makes room.
        kept[0][1].close()
        await inner.ended.wait()
        reader, _writer = await connected(port, b"GET / HTTP/1.1\r\n")
        assert (await reader.read()).startswith(b"http: ")

    over(test, most=2)


def test_a_client_of_grpc_that_is_refused_waits_before_it_tries_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[object] = []
    admit = PortMultiplexer.admit

    def counted(multiplexer: PortMultiplexer, transport: Any) -> bool:
        tried.append(transport)
        return admit(multiplexer, transport)

    monkeypatch.setattr(PortMultiplexer, "admit", counted)
    monkeypatch.setattr(multiplexer_module, "_affordable", lambda most: 0)
    with serving(MemoryStore()) as address, grpc.insecure_channel(address) as channel:
        call = channel.unary_unary("/google.pubsub.v1.Publisher/GetTopic")
        with pytest.raises(grpc.RpcError) as refused:
            call(b"", timeout=LONG)
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
        assert len(tried) < 10
    assert caplog.text.count("0 connections are open; more are refused") == 1


WITHOUT_FILES = """
import asyncio, os, socket, sys
from contextlib import suppress
from pubsub_delta.server.listening import listen, port_of
from pubsub_delta.server.multiplexer import PortMultiplexer
async def http(reader, writer):
    writer.write(b"http: " + await reader.readline())
    writer.close()
async def main():
    sockets = listen("127.0.0.1", 0)
    multiplexer = PortMultiplexer(None, http, None)
    await multiplexer.start(sockets)
    client, taken = socket.socket(), []
    client.setblocking(False)
    with suppress(OSError):
        while True:
            taken.append(os.dup(0))
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port_of(sockets)))
    client.send(b"hello\\n")
    await asyncio.sleep(1.5)
    for each in taken:
        os.close(each)
    print(await asyncio.get_running_loop().sock_recv(client, 100))
asyncio.run(main())
"""


def test_a_server_without_free_files_warns_once_and_serves_who_waits_afterwards() -> None:
    # "Bounded": asyncio logs 4 MB a second meanwhile, which fills the disk of the store too
    limited = ["bash", "-c", 'ulimit -n 64; exec "$@"', "bash", sys.executable, "-c"]
    done = subprocess.run(
        [*limited, WITHOUT_FILES], capture_output=True, text=True, check=False, timeout=LONG
    )
    assert done.stdout == "b'http: hello\\n'\n"
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("no connection can be accepted, and new ones wait: ")
    assert "Too many open files" in warning


def trusting(pem: Path, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(pem))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["h2"], "h2"),  # gRPC
        (["h2", "http/1.1"], "http/1.1"),  # curl, Go's and Terraform's clients of REST
        (["http/1.1"], "http/1.1"),
        ([], None),
    ],
)
def test_tls_carries_both_protocols(tmp_path: Path, offered: list[str], chosen: str | None) -> None:
    pem, key = certificate(tmp_path)

    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        tls = {"ssl": trusting(pem, *offered), "server_hostname": "localhost"}
        reader, writer = await connected(port, PREFACE, **tls)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == chosen
        assert await reader.readexactly(len(PREFACE)) == PREFACE
        writer.close()
        reader, writer = await connected(port, b"GET / HTTP/1.1\r\n", **tls)
        assert await reader.read() == b"http: GET / HTTP/1.1\r\n"
        writer.close()

    over(test, tls=Security(pem, key).tls())


def test_large_messages_go_both_ways_in_tls(tmp_path: Path) -> None:
    pem, key = certificate(tmp_path)

    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        tls = {"ssl": trusting(pem, "h2"), "server_hostname": "localhost"}
        sent = PREFACE + os.urandom(3_000_000)
        reader, writer = await connected(port, **tls)
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        writer.close()
        await inner.ended.wait()

    over(test, tls=Security(pem, key).tls())


def test_who_speaks_no_tls_to_a_server_with_tls_is_left_and_counted_no_more(
    tmp_path: Path,
) -> None:
    pem, key = certificate(tmp_path)

    async def test(port: int, inner: Inner, multiplexer: PortMultiplexer) -> None:
        reader, _writer = await connected(port, b"GET / HTTP/1.1\r\n\r\n")
        with suppress(ConnectionError):
            assert b"http:" not in await reader.read()
        while multiplexer._open:
            await asyncio.sleep(0.01)

    over(test, tls=Security(pem, key).tls())


@pytest.mark.parametrize("paths", [False, *([True] if HAS_PATHS else [])])
def test_grpc_is_reached_by_a_file_or_by_a_port(
    paths: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows there are no sockets that are files."""
    monkeypatch.setattr(
        "pubsub_delta.server.serve.InternalChannel", lambda: InternalChannel(paths=paths)
    )
    with serving(MemoryStore()) as address, clients(address) as (_, subscriber):
        ask = {"subscription": SUBSCRIPTION, "max_messages": 1, "return_immediately": True}
        assert not subscriber.pull(request=ask, timeout=LONG).received_messages


@pytest.mark.parametrize("name", ["absent", "long" * 30])
def test_grpc_is_reached_where_no_file_can_be_a_socket(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container may have no directory to write to, or one with too long a name for a socket."""
    if name != "absent":
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / name))
    with serving(MemoryStore()) as address, clients(address) as (_, subscriber):
        ask = {"subscription": SUBSCRIPTION, "max_messages": 1, "return_immediately": True}
        assert not subscriber.pull(request=ask, timeout=LONG).received_messages
    assert not list(tmp_path.glob("*/*"))


@pytest.mark.skipif(not HAS_PATHS, reason="there are no sockets that are files")
def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as short:  # the name of a test's own may be too long for a socket
        monkeypatch.setattr("tempfile.tempdir", short)
        with serving(MemoryStore()):
            assert len(os.listdir(short)) == 1
        assert os.listdir(short) == []
