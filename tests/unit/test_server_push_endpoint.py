"""One push request over HTTP, to a real server on this machine."""

from __future__ import annotations

import asyncio
import gc
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("httpcore")
import httpcore

from pubsub_delta.server import push_endpoint as endpoints
from pubsub_delta.server.push_endpoint import PushEndpoint
from pubsub_delta.server.push_requests import SUCCESSES, PushRequest
from tests.endpoints import Pushed, listening
from tests.servers import free_port
from tests.unit.test_server_command import certificate

REQUEST = PushRequest([("Content-Type", "application/json"), ("X-Test", "1")], b'{"a": 1}')

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"Transfer-Encoding: chunked"


def posted(url: str, times: int = 1, seconds: float = 10) -> list[str]:
    """Send a request so many times, one after the other, and return what came of each."""

    async def post() -> list[str]:
        endpoint = PushEndpoint()
        try:
            return [await endpoint.post(url, REQUEST, seconds) for _ in range(times)]
        finally:
            await endpoint.close()

    return asyncio.run(post())


@pytest.mark.parametrize("protocol", ["HTTP/1.0", "HTTP/1.1"])
@pytest.mark.parametrize("code", [102, 200, 201, 202, 204, 203, 302, 307, 400, 404, 429, 500, 503])
def test_the_code_of_the_answer_is_told(code: int, protocol: str) -> None:
    # "102, 200, 201, 202, 204" acknowledge; "Redirects are not followed"
    with listening(lambda _: code, protocol=protocol) as endpoint:
        assert posted(endpoint.url, times=2) == [str(code)] * 2
    assert len(endpoint.requests) == 2
    assert (str(code) in SUCCESSES) == (code in (102, 200, 201, 202, 204))


def test_a_request_is_a_post_of_the_body_with_the_headers() -> None:
    with listening() as endpoint:
        posted(endpoint.url)
    (request,) = endpoint.requests
    assert request.path == "/push?token=abc"
    assert request.body == REQUEST.body
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-test"] == "1"
    assert request.headers["host"] == endpoint.url.split("/")[2]
    assert request.headers["content-length"] == str(len(REQUEST.body))


def test_requests_share_a_connection() -> None:
    threads = set()

    def answer(_: Pushed) -> int:
        threads.add(threading.get_ident())  # the server has one for each connection
        return 200

    with listening(answer) as endpoint:
        assert posted(endpoint.url, times=5) == ["200"] * 5
    assert len(threads) == 1


def test_each_answer_of_a_connection_is_told() -> None:
    codes = [200, 500, 102, 204, 102]
    with listening(lambda _: codes[len(endpoint.requests) - 1]) as endpoint:
        assert posted(endpoint.url, times=5) == [str(code) for code in codes]


@pytest.mark.parametrize(
    "target", ["/a;b=1", "/a;b/c;d=2?x=1;y=2", "/?x=1", "/%2F//", "/a=&;", "/a?", ""]
)
def test_a_request_goes_to_the_path_and_the_query_of_its_url(target: str) -> None:
    with listening() as endpoint:
        posted(endpoint.url.replace("/push?token=abc", target))
    assert [request.path for request in endpoint.requests] == [target or "/"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://[::1]:8080/", "[::1]:8080"),
        ("https://[2001:db8::1]/", "[2001:db8::1]"),
        ("http://example.com:80/", "example.com"),
        ("http://example.com:443/", "example.com:443"),
        ("https://example.com:443", "example.com"),
        ("http://example.com:/x", "example.com"),
    ],
)
def test_the_host_header_is_that_of_the_url(url: str, host: str) -> None:
    assert endpoints._address(url)[1] == host


def talking(
    answers: Callable[[int], bytes], times: int, *, closes: bool = False, seconds: float = 10
) -> tuple[list[str], int]:
    """Send a request so many times to a server that answers so, by the number of the request.

    Return what came of each, and how many requests have reached the server. ``closes``: without
    a word it closes the connection after each answer, when the next request has begun.
    """
    number = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal number
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(REQUEST.body)
                number += 1
                answer = answers(number)
                writer.write(answer)
                if closes:
                    await reader.read(len(answer[:1]))  # of the next request, without an answer
                    break
        writer.close()

    async def run() -> list[str]:
        server = await asyncio.start_server(talk, "localhost", 0)
        endpoint = PushEndpoint()
        async with server:
            url = f"http://localhost:{server.sockets[0].getsockname()[1]}/"
            told = [await endpoint.post(url, REQUEST, seconds) for _ in range(times)]
            await endpoint.close()
        return told

    return asyncio.run(run()), number


@pytest.mark.parametrize(
    ("framing", "second"),
    [
        (b"Content-Length: 0\r\n\r\n", "503"),
        (CHUNKED + b"\r\n\r\n0\r\n\r\n", "unreachable"),  # it ends as the first one
    ],
)
def test_an_answer_that_came_before_its_request_is_none(framing: bytes, second: str) -> None:
    # "Any other answer, and none within the ack deadline, is a nack"
    def answers(number: int) -> bytes:
        codes = (500, 200) if number == 1 else (503,)  # both for one request
        return b"".join(b"HTTP/1.1 %d Answer\r\n" % code + framing for code in codes)

    assert talking(answers, 3)[0] == ["500", second, "503"]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 204 No Content\r\n\r\nok",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 204 No Content\r\n" + CHUNKED + b"\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xc3\xbc\xc3\xbc\r\n",
        b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"\r\n\r\n2\r\nok\r\n0\r\n\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\n",
    ],
)
def test_what_follows_an_answer_fails_no_later_request(answer: bytes) -> None:
    # "Only a success acknowledges. … any other answer, and none …, is a nack"
    code = "204" if b" 204 " in answer else "200"
    assert talking(lambda _: answer, 6) == ([code] * 6, 6)


def test_a_request_is_sent_again_where_the_kept_connection_was_closed() -> None:
    # "A request on a kept connection that ends without an answer is sent once more"
    assert talking(lambda _: ANSWER, 6, closes=True) == (["200"] * 6, 6)
    told, number = talking(lambda number: b"" if number > 1 else ANSWER, 2, closes=True)
    assert (told, number) == (["200", "unreachable"], 2)


def test_what_a_new_connection_brings_before_its_request_is_no_answer() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def run() -> None:
        server = await asyncio.start_server(talk, "localhost", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            stream = await endpoints._Network().connect_tcp("localhost", port)
            await asyncio.sleep(0.2)
            with pytest.raises(httpcore.RemoteProtocolError, match="before its request"):
                await stream.write(b"POST / HTTP/1.1\r\n\r\n")
            await stream.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" * 4_000,
        b"HTTP/1.1 200 OK\r\n" + b"X-A: a\r\n" * 10_000,
        b"HTTP/1.1 200 " + b"O" * 100_000,
    ],
)
def test_a_head_that_does_not_end_is_no_answer(head: bytes) -> None:
    assert told_after(head, waits=True, seconds=60) == "unreachable"


def test_no_answer_in_time_is_told() -> None:
    released = threading.Event()
    with listening(lambda _: 200 if released.wait(20) else 500) as endpoint:
        assert posted(endpoint.url, seconds=0.2) == ["deadline_exceeded"]
        released.set()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/", "http://nowhere.invalid/", "https://127.0.0.1:{port}/"]
)
def test_no_connection_is_told(url: str) -> None:
    assert posted(url.format(port=free_port())) == ["unreachable"]


def told_after(
    *parts: bytes, waits: bool = False, seconds: float = 10, tls: ssl.SSLContext | None = None
) -> str:
    """Send a request to a server that answers so, part by part; return what came of it.

    ``waits``: it does not close the connection before the client does.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(REQUEST.body)
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.05)
        if waits:
            await reader.read()
        writer.close()

    async def run() -> str:
        server = await asyncio.start_server(talk, "localhost", 0, ssl=tls)
        endpoint = PushEndpoint()
        async with server:
            scheme = "http" if tls is None else "https"
            port = server.sockets[0].getsockname()[1]
            told = await endpoint.post(f"{scheme}://localhost:{port}/", REQUEST, seconds)
            await endpoint.close()
        return told

    return asyncio.run(run())


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 2", b"SSH-2.0-OpenSSH\r\n\r\n"])
def test_an_answer_that_is_no_http_is_told(answer: bytes) -> None:
    assert told_after(answer) == "unreachable"


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([b"HTTP/1.1 10", b"2 Processing\r\n\r\n"], "102"),
        ([b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"], "200"),
        ([b"HTTP/1.1 1020 Odd\r\n\r\n"], "unreachable"),
        # the code has come: what follows it does not matter
        ([b"HTTP/1.1 500 Broken\r\nContent-Length: 9\r\n\r\n", b"half"], "500"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"nonsense\r\n"], "200"),
        ([b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1_000_000], "200"),
    ],
)
def test_answers_may_come_in_parts(parts: list[bytes], code: str) -> None:
    assert told_after(*parts) == code


def test_an_answer_whose_body_does_not_end_is_an_answer() -> None:
    answer = b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nx"
    assert told_after(answer, waits=True, seconds=0.3) == "201"


@pytest.mark.timeout(60)
def test_a_connection_is_closed_whose_handshake_takes_too_long() -> None:
    """Else it stays open until Python happens to look for what nobody has."""

    async def run() -> bytes:
        ended: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)  # and nothing is answered
            ended.set_result((await reader.read())[-1:])
            writer.close()

        endpoint = PushEndpoint()
        async with await asyncio.start_server(talk, "localhost", 0) as server:
            port = server.sockets[0].getsockname()[1]
            told = await endpoint.post(f"https://localhost:{port}/", REQUEST, 0.3)
            assert told == "deadline_exceeded"
            return await asyncio.wait_for(ended, 5)

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


@pytest.mark.parametrize("trusted", [True, False])
def test_the_certificate_of_an_https_endpoint_is_checked(
    trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, key = certificate(tmp_path)
    trust = ssl.create_default_context()
    if trusted:
        trust.load_verify_locations(pem)
    monkeypatch.setattr(endpoints, "_trust", lambda: trust)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(pem, key)
    told = told_after(b"HTTP/1.1 102 Processing\r\n\r\n", tls=own)
    assert told == ("102" if trusted else "unreachable")
