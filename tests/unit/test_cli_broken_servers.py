"""``--endpoint``: servers, and what is between, that answer what no server of Pub/Sub answers."""

from __future__ import annotations

import shlex
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import closing
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from click.testing import CliRunner, Result
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import status_pb2

from pubsub_delta.cli.application import App
from pubsub_delta.cli.endpoint.client import connect
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.settings import Settings
from pubsub_delta.errors import Unavailable, Unknown
from pubsub_delta.server.grpc_services import message_class
from pubsub_delta.server.status import DETAILS

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.timeout(60),
]

Answer = Callable[[Any], bytes]
"""What a method answers, given the context of gRPC."""


class Odd(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers each method as it is told to, whatever is asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        self._server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[self])
        self.address = f"127.0.0.1:{self._server.add_insecure_port(self.address)}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()

    def service(self, handler_call_details: Any) -> Any:
        answer = self.answers.get(handler_call_details.method.rsplit("/", 1)[1], lambda _: b"")
        return grpc.unary_unary_rpc_method_handler(lambda _, context: answer(context))

    def run(self, line: str) -> Result:
        return ran(line, self.address)


def ran(line: str, address: str) -> Result:
    words = [*shlex.split(line), f"--endpoint={address}"]
    return CliRunner().invoke(cli, words, obj=App(environment={}))


@pytest.fixture
def odd() -> Iterator[Odd]:
    handler = Odd()
    yield handler
    handler.stop()


_GARBAGE = b"\xff\xff"
_HALF = AnyMessage(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=_GARBAGE)


@pytest.mark.parametrize(
    "details", [_GARBAGE, status_pb2.Status(code=5, details=[_HALF]).SerializeToString()]
)
def test_an_error_is_told_whose_details_cannot_be_read(odd: Odd, details: bytes) -> None:
    """The code and the message come apart from the details, and are what a user needs."""

    def refuse(context: Any) -> bytes:
        context.set_trailing_metadata(((DETAILS, details),))
        context.abort(grpc.StatusCode.NOT_FOUND, "it is gone")
        return b""

    odd.answers["GetTopic"] = refuse
    told = odd.run("topics describe flights")
    assert told.exit_code == 1
    assert told.stderr == "ERROR: (pubsub-delta.topics.describe) NOT_FOUND: it is gone\n"


def test_a_message_is_printed_whose_ack_id_is_empty(odd: Odd) -> None:
    """--auto-ack: what is acknowledged is printed, too."""
    received = message_class("ReceivedMessage")(message={"data": b"kept", "message_id": "1"})
    pulled = message_class("PullResponse")(received_messages=[received])
    odd.answers["Pull"] = lambda _: pulled.SerializeToString()
    told = odd.run("subscriptions pull delays --auto-ack")
    assert (told.exit_code, told.stderr) == (0, "")
    assert "kept" in told.stdout


@pytest.mark.parametrize("line", ["topics delete flights --quiet", "topics list"])
@pytest.mark.parametrize("body", [b"", b"\0\xff\xff\xff\xffhalf"])
def test_an_end_without_a_whole_response_is_no_success(line: str, body: bytes) -> None:
    """gRPC: one response, and then the status. A status alone may be that of a proxy."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        threading.Thread(target=_answer, args=(listener, body), daemon=True).start()
        told = ran(line, f"127.0.0.1:{listener.getsockname()[1]}")
    assert (told.exit_code, told.stdout) == (1, "")
    assert "UNKNOWN: endpoint: 127.0.0.1:" in told.stderr
    assert "sent no response to" in told.stderr


@pytest.mark.parametrize("resets", [False, True], ids=["ends", "resets"])
def test_of_a_server_that_died_no_answer_says_that_nothing_was_done(resets: bool) -> None:
    """Unavailable: nothing was written. Unknown: the response to a commit was lost."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        threading.Thread(target=_die, args=(listener, resets), daemon=True).start()
        told = ran("topics publish flights --message=x", f"127.0.0.1:{listener.getsockname()[1]}")
    assert (told.exit_code, told.stdout) == (1, "")
    assert "UNKNOWN: endpoint: no response came from 127.0.0.1:" in told.stderr
    assert "the server may have carried out the request" in told.stderr


def test_a_server_that_was_started_again_is_found_within_seconds(odd: Odd) -> None:
    """A shell keeps its connection. gRPC pauses for up to two minutes after failures."""
    client = connect(Settings(endpoint=odd.address))
    assert client.list_topics() == []
    odd.stop()
    with pytest.raises((Unavailable, Unknown)):  # Unknown: sent before the end was seen
        client.list_topics()
    for _ in range(30):
        with pytest.raises(Unavailable, match="no server can be reached"):
            client.list_topics()
        time.sleep(0.1)
    odd.start()
    until = time.monotonic() + 20
    while True:
        try:
            assert client.list_topics() == []
            return
        except Unavailable:
            assert time.monotonic() < until
            time.sleep(0.1)


def _die(listener: socket.socket, resets: bool) -> None:
    """Take the first request, and end the connection as the kernel does for a dead process."""
    client, _ = listener.accept()
    client.sendall(_frame(_SETTINGS, 0, 0, b""))
    while client.recv(65_536).find(b"/google.pubsub.v1") < 0:
        pass
    if resets:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def _answer(listener: socket.socket, body: bytes) -> None:
    """Answer the first request over HTTP/2: headers, a body, and the status OK."""
    client, _ = listener.accept()
    client.sendall(_frame(_SETTINGS, 0, 0, b""))
    while client.recv(65_536).find(b"/google.pubsub.v1") < 0:
        pass
    client.sendall(_frame(_SETTINGS, _ACK, 0, b""))
    client.sendall(_headers(0, {":status": "200", "content-type": "application/grpc"}))
    if body:
        client.sendall(_frame(_DATA, 0, 1, body))
    client.sendall(_headers(_END_STREAM, {"grpc-status": "0"}))
    client.recv(65_536)
    client.recv(65_536)


_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_ACK = _END_STREAM = 1
_END_HEADERS = 4


def _headers(flags: int, fields: dict[str, str]) -> bytes:
    """Return headers of the first stream, in HPACK's plain form."""
    written = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )
    return _frame(_HEADERS, _END_HEADERS | flags, 1, written)


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body
