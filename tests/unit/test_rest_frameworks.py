"""REST as generated clients send it: bodies in gzip, and POSTs that mean another method."""

from __future__ import annotations

import asyncio
import gzip
import json
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server.rest.connection import Connections, Limits
from pubsub_delta.server.rest.encodings import Gzip, Identity, decoder
from pubsub_delta.server.security import Security
from tests.unit.rest_connections import Echo, over
from tests.unit.serving import LONG, SUBSCRIPTION, TOPIC, MemoryStore, serving
from tests.unit.serving_world import WorldBackend, served

GZIP = {"Content-Type": "application/json; charset=UTF-8", "Content-Encoding": "gzip"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def ask(address: str, verb: str, target: str, body: bytes, headers: Any) -> tuple[int, Any]:
    """Send a request of these bytes; return the status and the JSON of the reply."""
    connection = HTTPConnection(address, timeout=LONG)
    connection.request(verb, target, body, headers)
    reply = connection.getresponse()
    read = json.loads(reply.read())
    connection.close()
    return reply.status, read


def decompressed(*sent: bytes) -> bytes:
    """Return what a body in gzip decompresses to that comes in several reads."""
    body = Gzip()
    parts = [part for data in sent for part in body.parts(data)]
    body.check_end()
    assert max(map(len, parts), default=0) <= 65_536
    return b"".join(parts)


def test_a_body_in_gzip_is_read() -> None:
    """Google's generated client for Java compresses each body, also one of two bytes."""
    store = MemoryStore()
    with serving(store) as address:
        publish = json.dumps({"messages": [{"data": "bGF0ZQ=="}]}).encode()
        for encoding in ("gzip", "GZIP", "x-gzip"):
            headers = {**GZIP, "Content-Encoding": encoding}
            sent = gzip.compress(publish)
            assert ask(address, "POST", f"/v1/{TOPIC}:publish", sent, headers)[0] == 200
        pull = gzip.compress(b'{"maxMessages": 9}')
        _, pulled = ask(address, "POST", f"/v1/{SUBSCRIPTION}:pull", pull, GZIP)
        assert [each["message"]["data"] for each in pulled["receivedMessages"]] == ["bGF0ZQ=="] * 3


def test_a_body_that_is_not_what_its_encoding_says_is_refused() -> None:
    store = MemoryStore()
    whole = gzip.compress(b'{"messages": [{"data": "bGF0ZQ=="}]}')
    with serving(store) as address:
        for sent, encoding, why in (
            (b'{"messages": []}', "gzip", "the body is not in gzip; a body in gzip, or an"),
            (whole[:-9], "gzip", "the body in gzip is cut off; send it to its end"),
            (whole[:-1], "gzip", "the body in gzip is cut off"),
            (whole + b"more", "gzip", "the body is not in gzip"),
            (whole[:-8] + b"\0" * 8, "gzip", "the body is not in gzip"),  # another checksum
            (whole, "br", "Content-Encoding: 'br'; gzip and an uncompressed body are accepted"),
            (whole, "gzip, gzip", "Content-Encoding: 'gzip, gzip'; gzip and an uncompressed body"),
        ):
            headers = {**GZIP, "Content-Encoding": encoding}
            status, read = ask(address, "POST", f"/v1/{TOPIC}:publish", sent, headers)
            assert (status, read["error"]["status"]) == (400, "INVALID_ARGUMENT"), sent
            assert why in read["error"]["message"]
        assert store.messages == []


def test_gzip_is_decompressed_in_parts_however_it_comes() -> None:
    for plain in (b"", b"x", b"x" * 65_536, b"x" * 5_000_000, bytes(range(256)) * 3_000):
        sent = gzip.compress(plain)
        assert decompressed(sent) == plain
        assert decompressed(*(sent[at : at + 1] for at in range(len(sent)))) == plain
        assert decompressed(sent + sent, sent) == plain * 3, "RFC 1952: several members"
    assert decompressed() == decompressed(b"") == b"", "no bytes are an empty body"


def test_a_body_without_an_encoding_stays_as_it_is() -> None:
    for headers in ({}, {"content-encoding": "identity"}, {"content-encoding": "Identity"}):
        assert isinstance(decoder(headers), Identity)
    with pytest.raises(InvalidArgument, match="Content-Encoding: 'deflate'; gzip and an"):
        decoder({"content-encoding": "deflate"})


def test_the_limit_of_a_body_in_gzip_is_that_of_what_it_holds() -> None:
    """A thousandth of the bytes is sent: who counts these holds any amount."""

    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        async def send(body: bytes) -> bytes:
            client = await connect()
            head = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked"
            chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
            reply: bytes = await client.ask(
                f"POST /b HTTP/1.1\r\nHost: l\r\n{head}\r\n\r\n", chunks
            )
            return reply

        assert (await send(gzip.compress(b"x" * 1_000))).endswith(b"x" * 1_000)
        echo.asked.clear()
        empty_blocks = gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * 300
        for body in (gzip.compress(b"x" * 1_001), gzip.compress(b"x" * 400_000), empty_blocks):
            reply = await send(body)
            assert reply.startswith(b"HTTP/1.1 400 ")
            assert b"larger than 1,000 bytes" in reply
        assert echo.asked == []

    over(test)


def test_large_bodies_in_gzip_are_held_one_after_the_other() -> None:
    async def test(connect: Any, echo: Echo, _: Connections) -> None:
        body = gzip.compress(b"x" * 500)
        assert len(body) < 100
        sent = (
            b"POST /%s HTTP/1.1\r\nHost: l\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        )
        first, second = await connect(), await connect()
        first.writer.write(sent % (b"wait", len(body)) + body)
        await echo.waiting.wait()
        second.writer.write(sent % (b"b", len(body)) + body)
        await asyncio.sleep(0.05)
        assert [told[:7] for told in echo.asked] == ["POST /w"]
        echo.go_on.set()
        assert (await second.reply()).endswith(b"xxx")

    over(test, Limits(body_size=1_000, small_size=100, large=1))


def test_a_post_may_mean_another_method() -> None:
    """Google: "do an HTTP POST request and set the override header to PATCH"."""
    with served(WorldBackend()) as address:

        def send(wanted: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
            told = {**GZIP, "X-HTTP-Method-Override": wanted, **headers}
            sent = b"" if body is None else gzip.compress(json.dumps(body).encode())
            return ask(address, "POST", target, sent, told)

        assert send("PUT", f"/v1/{TOPIC}", {})[1]["name"] == TOPIC
        changed = {"topic": {"name": TOPIC, "labels": {"a": "b"}}, "updateMask": "labels"}
        assert send("patch", f"/v1/{TOPIC}", changed)[1]["labels"] == {"a": "b"}
        assert send("GET", f"/v1/{TOPIC}")[1]["labels"] == {"a": "b"}
        status, read = send("PUSH", f"/v1/{TOPIC}")
        assert status == 404
        assert read["error"]["message"].startswith("no method of google.pubsub.v1 has PUSH /v1/")
        # Of another method than POST the header says nothing.
        override = {"X-HTTP-Method-Override": "DELETE"}
        assert ask(address, "GET", f"/v1/{TOPIC}", b"", override)[1]["name"] == TOPIC
        assert send("DELETE", f"/v1/{TOPIC}") == (200, {})
        assert send("GET", f"/v1/{TOPIC}")[0] == 404


def test_a_long_query_comes_in_the_body() -> None:
    """Google's clients for Python and Java, above 2,048 characters of a URL."""
    with served(WorldBackend()) as address:
        ask(address, "PUT", f"/v1/{TOPIC}", b"", {})
        get = {**FORM, "X-HTTP-Method-Override": "GET"}
        body = f"fields=name&quotaUser={'x' * 3_000}".encode()
        for target in (f"/v1/{TOPIC}", f"/v1/{TOPIC}?alt=json"):
            assert ask(address, "POST", target, body, get) == (200, {"name": TOPIC})
        sent = ask(address, "POST", f"/v1/{TOPIC}", gzip.compress(body), {**get, **GZIP, **FORM})
        assert sent == (200, {"name": TOPIC})
        status, read = ask(address, "POST", f"/v1/{TOPIC}", b"nothing=1", get)
        assert (status, '"nothing"' in read["error"]["message"]) == (400, True)
        status, read = ask(address, "POST", f"/v1/{TOPIC}", b"fields=" + b"x" * 32_768, get)
        assert (status, "32,768 are accepted" in read["error"]["message"]) == (400, True)
        status, read = ask(address, "POST", f"/v1/{TOPIC}:publish", b"a=b", FORM)
        assert "application/json is accepted" in read["error"]["message"]


def test_a_meant_method_is_asked_for_its_token() -> None:
    with served(WorldBackend(), security=Security(token="secret")) as address:
        get = {"X-HTTP-Method-Override": "GET"}
        topics = "/v1/projects/local/topics"
        assert ask(address, "POST", topics, b"", get)[0] == 401
        told = {**get, "Authorization": "Bearer secret"}
        assert ask(address, "POST", topics, b"", told) == (200, {})


def test_a_web_page_may_send_no_meant_method_either() -> None:
    with served(WorldBackend()) as address:
        page = {"X-HTTP-Method-Override": "PUT", "Origin": "https://attacker.example"}
        assert ask(address, "POST", f"/v1/{TOPIC}", b"", page)[0] == 403
