"""HTTP/1.1 as clients send it, well and badly, by real sockets."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.server.rest.connection import Connections, Limits
from tests.unit.rest_connections import SOON, Client, Echo, over


def test_requests_follow_each_other_on_one_connection() -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        first = await client.ask("GET /a?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert first.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n" in first
        assert first.endswith(b"GET /a?x=1 ")
        body = "POST /b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        assert (await client.ask(body)).endswith(b"POST /b? abc")
        # The request comes byte by byte, and the body in chunks.
        chunked = "POST /c HTTP/1.1\r\nHost: l\r\nTransfer-Encoding: chunked\r\n\r\n"
        parts = [*chunked, "2\r\nab\r\n", "1\r\nc\r\n", "0\r\n\r\n"]
        assert (await client.ask(*parts)).endswith(b"POST /c? abc")

    over(test)


def test_a_target_in_the_form_for_proxies_is_its_path() -> None:
    """RFC 9112, 3.2.2: "a server MUST accept the absolute-form in requests"."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        head = "GET http://localhost:8085/a/b?x=1&y HTTP/1.1\r\nHost: localhost:8085\r\n\r\n"
        assert (await client.ask(head)).endswith(b"GET /a/b?x=1&y ")

    over(test)


def test_a_header_that_is_repeated_is_a_list() -> None:
    """RFC 9110, 5.2: the value is "the list of corresponding field line values", with commas."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        head = "GET /list HTTP/1.1\r\nHost: localhost\r\nX-List: a\r\nx-list: b, c\r\n\r\n"
        assert (await client.ask(head)).endswith(b"\r\n\r\na, b, c")

    over(test)


@pytest.mark.parametrize("year", [1969, 9999])
def test_by_a_clock_that_cannot_be_right_a_reply_has_no_date(year: int) -> None:
    """RFC 9110, 6.6.1: "an origin server without a clock MUST NOT generate a Date header field"."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        for _time in range(2):
            reply = await client.ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert reply.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"\r\nDate:" not in reply

    over(test, year=year)


def test_requests_that_are_sent_ahead_are_answered_in_turn() -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        get = "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        first = await client.ask("".join(get.format(name) for name in "abc"))
        assert [first[-4:], (await client.reply())[-4:], (await client.reply())[-4:]] == [
            b"/a? ",
            b"/b? ",
            b"/c? ",
        ]

    over(test)


def test_what_comes_during_a_request_is_of_the_next_one() -> None:
    """RFC 9112, 9.3.2: the responses to pipelined requests come in the order of these."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        client.writer.write(b"GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await echo.waiting.wait()
        client.writer.write(b"GET /a HTTP/1.1\r\nHo")
        await asyncio.sleep(0.05)  # the server looks whether the client is still there
        echo.go_on.set()
        assert (await client.reply()).endswith(b"GET /wait? ")
        assert (await client.ask("st: localhost\r\n\r\n")).endswith(b"GET /a? ")

    over(test, Limits())


def test_a_reply_to_head_has_no_body() -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        client.writer.write(
            b"HEAD /a HTTP/1.1\r\nHost: l\r\n\r\nGET /b HTTP/1.1\r\nHost: l\r\n\r\n"
        )
        assert b"Content-Length: 9\r\n" in await client.reader.readuntil(b"\r\n\r\n")
        assert (await client.reply()).endswith(b"GET /b? ")

    over(test)


def test_a_client_that_asks_first_is_told_to_send_its_body() -> None:
    """RFC 9110: ``Expect: 100-continue``, as curl says before a large body."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        head = "POST /b HTTP/1.1\r\nHost: l\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        assert (await client.ask(head)).startswith(b"HTTP/1.1 100 ")
        assert (await client.ask("abc")).endswith(b"POST /b? abc")

    over(test)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_above_the_limit_is_refused_and_the_client_reads_why(is_chunked: bool) -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()

        async def send(size: int) -> bytes:
            chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (size, b"x" * size)
            of_size = f"Content-Length: {size}"
            head = "Transfer-Encoding: chunked" if is_chunked else of_size
            body = chunked if is_chunked else b"x" * size
            reply: bytes = await client.ask(f"POST /b HTTP/1.1\r\nHost: l\r\n{head}\r\n\r\n", body)
            return reply

        assert (await send(1_000)).endswith(b"x" * 1_000)
        echo.asked.clear()
        reply = await send(3_000_000)  # more than what the system keeps for a connection
        assert reply.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"Connection: close" in reply
        error = json.loads(reply.partition(b"\r\n\r\n")[2])["error"]
        assert error["status"] == "INVALID_ARGUMENT"
        assert "larger than 1,000 bytes" in error["message"]
        assert echo.asked == []

    over(test)


def test_large_bodies_are_held_one_after_the_other() -> None:
    """Memory: so many large bodies at a time, whoever sends them; small ones need not wait."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        large = "POST /{} HTTP/1.1\r\nHost: l\r\nContent-Length: 500\r\n\r\n" + "x" * 500
        first, second, third = [await connect() for _ in range(3)]
        for each in (large.format("before"), "GET /before HTTP/1.1\r\nHost: l\r\n\r\n"):
            await third.ask(each)  # the small one gives no place back
        echo.asked.clear()
        first.writer.write(large.format("wait").encode())
        await echo.waiting.wait()
        second.writer.write(large.format("b").encode())
        small = await third.ask("POST /c HTTP/1.1\r\nHost: l\r\nContent-Length: 3\r\n\r\nabc")
        assert small.endswith(b"abc")
        assert [told[:7] for told in echo.asked] == ["POST /w", "POST /c"]
        echo.go_on.set()
        assert (await first.reply()).endswith(b"xxx")
        assert (await second.reply()).endswith(b"xxx")

    over(test, Limits(body_size=1_000, small_size=100, large=1))


def test_a_refusal_comes_before_the_body_is_read() -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        refused = await client.ask("POST /none HTTP/1.1\r\nHost: l\r\nContent-Length: 900\r\n\r\n")
        assert refused.startswith(b"HTTP/1.1 404 Not Found\r\n")
        assert b"Connection: close" in refused
        # What has no body, or has come whole, leaves the connection as it is.
        client = await connect()
        for body in ("", "abc"):
            whole = f"POST /none HTTP/1.1\r\nHost: l\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            assert b"Connection: close" not in await client.ask(whole)
        assert (await client.ask("GET /a HTTP/1.1\r\nHost: l\r\n\r\n")).endswith(b"GET /a? ")

    over(test)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("nonsense\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),  # TLS, to a server without
        ("GET / HTTP/1.1\r\n\r\n", 400),  # HTTP/1.1 asks for a Host
        ("GET /a b HTTP/1.1\r\nHost: l\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: l\r\nContent-Length: x\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: l\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: l\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: l\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: l\r\nX: " + "x" * 70_000, 431),
    ],
)
def test_what_is_no_request_is_told_so_and_the_connection_ends(sent: str, status: int) -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        reply = await client.ask(sent.encode("latin-1"))
        assert reply.startswith(b"HTTP/1.1 %d " % status)
        error = json.loads(reply.partition(b"\r\n\r\n")[2])["error"]
        assert error["code"] == status
        assert error["status"] == ("UNIMPLEMENTED" if status == 501 else "INVALID_ARGUMENT")
        client.writer.write_eof()
        assert await client.is_closed()
        assert echo.asked == []

    over(test)


@pytest.mark.parametrize(
    "sent",
    [
        "GET / HTTP/1.1\r\nHost: l",  # a head that does not end
        "POST / HTTP/1.1\r\nHost: l\r\nContent-Length: 5\r\n\r\nab",  # a body that does not
    ],
)
def test_a_request_that_does_not_come_in_time_is_given_up(sent: str) -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        reply = await client.ask(sent)
        assert reply.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert b'"DEADLINE_EXCEEDED"' in reply
        assert await client.is_closed()

    over(test)


def test_a_head_that_comes_byte_by_byte_must_be_whole_in_time() -> None:
    """Slowloris: each byte comes soon enough, the whole never does."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        reply = asyncio.ensure_future(client.reply())
        while not reply.done():
            client.writer.write(b"G")
            await asyncio.wait({reply}, timeout=0.05)
        assert (await reply).startswith(b"HTTP/1.1 408 ")

    over(test)


def test_a_body_that_comes_byte_by_byte_must_be_whole_in_time() -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        client.writer.write(b"POST / HTTP/1.1\r\nHost: l\r\nContent-Length: 900\r\n\r\n")
        reply = asyncio.ensure_future(client.reply())
        while not reply.done():
            client.writer.write(b"x")
            await asyncio.wait({reply}, timeout=0.05)
        assert (await reply).startswith(b"HTTP/1.1 408 ")

    over(test, Limits(whole_body=0.5, pause=5))


def test_an_idle_connection_is_closed() -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        await client.ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await client.is_closed()

    over(test)


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_call_ends_when_its_client_goes_away(is_reset: bool) -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        client.writer.write(b"POST /wait HTTP/1.1\r\nHost: l\r\nContent-Length: 0\r\n\r\n")
        await echo.waiting.wait()
        if is_reset:
            client.writer.transport.abort()
        else:
            client.writer.close()
        await echo.cancelled.wait()

    over(test)


def test_a_request_under_way_is_answered_when_the_server_ends() -> None:
    async def test(connect: Any, echo: Echo, all_of_them: Connections) -> None:
        busy, idle = await connect(), await connect()
        await idle.ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        busy.writer.write(b"GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await echo.waiting.wait()
        ending = asyncio.ensure_future(all_of_them.end(SOON))
        assert await idle.is_closed()
        echo.go_on.set()
        reply = await busy.reply()
        assert reply.endswith(b"GET /wait? ")
        assert b"Connection: close" in reply
        assert await busy.is_closed()
        await ending

    over(test, Limits())


async def insist(client: Client) -> None:
    """Write until the server tells that it reads no more: that it has not only ended to write."""
    while True:
        client.writer.write(b"x" * 10)
        await client.writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "head", ["GET /a HTTP/1.0\r\n", "GET /a HTTP/1.1\r\nHost: l\r\nConnection: close\r\n"]
)
def test_a_client_that_asks_once_is_answered_once(head: str) -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        client = await connect()
        reply = await client.ask(f"{head}\r\n")
        assert reply.endswith(b"GET /a? ")
        assert b"connection: close" in reply.lower()
        assert await client.is_closed()
        with pytest.raises(ConnectionError):
            await insist(client)

    over(test, Limits(pause=600))
