"""For how long a port keeps a connection, and who goes away."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress

import pytest

pytest.importorskip("grpc")

from pubsub_delta.server import multiplexer as multiplexer_module
from pubsub_delta.server.multiplexer import PREFACE, PortMultiplexer
from tests.unit import test_server_multiplexer
from tests.unit.test_server_multiplexer import Inner, connected, over

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.mark.parametrize("first", [b"GET", PREFACE], ids=["http", "grpc"])
def test_a_client_that_has_said_something_has_time_for_the_rest(
    monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    """The limit is one for the first bytes: streams last for hours, and connections are kept."""
    monkeypatch.setattr(multiplexer_module, "FIRST_BYTES_SECONDS", 0.2)

    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        reader, writer = await connected(port, first)
        await asyncio.sleep(0.4)
        writer.write(b" rest\n")
        expected = (b"http: " if first == b"GET" else b"") + first + b" rest\n"
        assert await reader.readexactly(len(expected)) == expected

    over(test)


@pytest.mark.parametrize("is_reset", [True, False])
def test_a_client_of_http_that_goes_away_is_noticed(
    monkeypatch: pytest.MonkeyPatch, is_reset: bool
) -> None:
    """Else its call would go on, and what a pull finds would be leased for nobody."""
    gone = asyncio.Event()

    async def reading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        gone.set()
        writer.close()

    monkeypatch.setattr(test_server_multiplexer, "http", reading)

    async def test(port: int, inner: Inner, _: PortMultiplexer) -> None:
        _reader, writer = await connected(port, b"GET / HTTP/1.1\r\n")
        if is_reset:
            carrier = writer.get_extra_info("socket")
            carrier.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()
        await asyncio.wait_for(gone.wait(), 5)

    over(test)
