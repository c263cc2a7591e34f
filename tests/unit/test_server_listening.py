"""Listening: the sockets of a server, which are there before the server is."""

from __future__ import annotations

import asyncio
import errno
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.server.listening import listen, port_of
from pubsub_delta.server.multiplexer import PortMultiplexer
from tests.unit.serving import LONG
from tests.unit.test_server_multiplexer import Inner, http


def test_a_port_that_is_taken_is_refused() -> None:
    (taken,) = listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    with taken, pytest.raises(FailedPrecondition, match=f"127.0.0.1:{port} cannot be bound"):
        listen("127.0.0.1", port)


@pytest.mark.parametrize("host", ["absent.invalid", "203.0.113.1"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(FailedPrecondition, match=f"{host}:8085 cannot be bound"):
        listen(host, 8085)


@pytest.mark.skipif(sys.platform != "linux", reason="others have one loopback address")
def test_localhost_is_one_port_at_every_address_that_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client may try any address of a name."""
    addresses = "127.0.0.1", "127.0.0.2"
    named = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (each, 0)) for each in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: named)
    sockets = listen("localhost", 0)
    assert tuple(each.getsockname()[0] for each in sockets) == addresses
    ports = {each.getsockname()[1] for each in sockets}
    for each in sockets:
        each.close()
    assert len(ports) == 1


V4, V6 = (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")


@pytest.mark.parametrize("code", [errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EADDRINUSE])
@pytest.mark.parametrize("addresses", [[V6, V4], [V4, V6], [V6]], ids=repr)
def test_an_address_that_this_machine_lacks_is_passed_over_and_one_that_is_taken_is_not(
    monkeypatch: pytest.MonkeyPatch, code: int, addresses: list[tuple[int, str]]
) -> None:
    """Many containers name ::1 for localhost, and have no IPv6."""
    create, made = socket.create_server, list[socket.socket]()

    def limited(address: tuple[str, int], **named: Any) -> socket.socket:
        if address[0] == "::1":
            raise OSError(code, "not here")
        made.append(create(address, **named))
        return made[-1]

    found = [(family, socket.SOCK_STREAM, 0, "", (host, 0)) for family, host in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "create_server", limited)
    if code == errno.EADDRINUSE or addresses == [V6]:
        with pytest.raises(FailedPrecondition, match=r"cannot be bound \(not here"):
            listen("localhost", 0)
        assert all(each.fileno() == -1 for each in made), "none is left open"
    else:
        (only,) = listen("localhost", 0)
        assert only.getsockname()[0] == "127.0.0.1"
        only.close()


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_every_address_of_ipv6_is_every_address_of_ipv4_too() -> None:
    (listening,) = listen("[::]", 0)
    address = ("127.0.0.1", port_of((listening,)))
    with listening, socket.create_connection(address, timeout=LONG):
        pass


def test_who_connects_before_the_server_is_there_is_served_by_it() -> None:
    # "Back in seconds": a client that is refused backs off, and one that waits is there at once
    sockets = listen("127.0.0.1", 0)

    async def test() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(sockets))
        writer.write(b"GET / HTTP/1.1\r\n")
        await asyncio.sleep(0.1)
        multiplexer = PortMultiplexer(Inner().connect, http, None)
        await multiplexer.start(sockets)
        answer = await asyncio.wait_for(reader.read(), LONG)
        await multiplexer.close()
        return answer

    assert asyncio.run(test()) == b"http: GET / HTTP/1.1\r\n"


PROGRAM = """
import os, sys
def look(event, _):
    if event == "socket.bind":
        print(sorted({"grpc", "deltalake", "pyarrow", "google.pubsub_v1"} & set(sys.modules)))
        sys.stdout.flush()
        os._exit(0)
sys.addaudithook(look)
from pubsub_delta.cli.main import main
sys.argv = ["pubsub-delta", "serve", f"--root={sys.argv[1]}", "--host-port=localhost:0"]
main()
"""


def test_a_server_listens_before_it_imports_what_takes_long(tmp_path: Path) -> None:
    # "Messages flow again within 10 s of the new server's start"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
