"""What a server reads and writes, compared whole: addresses, senders, claims, schemas, failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("grpc")

from google.protobuf.json_format import MessageToDict

from pubsub_delta import Schema
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.schemas import SchemaType
from pubsub_delta.server import interceptors, push_tokens, status
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.rest import gateway, payload
from pubsub_delta.server.rest.responses import RequestHead
from pubsub_delta.server.schema_wire import schema_message
from pubsub_delta.server.security import split_address
from pubsub_delta.server.status import AckIdFailure, PermissionDenied
from tests.unit.builders import at


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:8085", ("localhost", 8085)),
        (":8085", ("localhost", 8085)),
        ("[::1]:0", ("[::1]", 0)),
        ("a.example:65535", ("a.example", 65535)),
        ("a.example:65536", None),
        ("a:00080", ("a", 80)),
        ("a:000080", None),
        ("a:", None),
        ("a", None),
        ("8085", None),
        ("", None),
        ("a:-1", None),
        ("a:+1", None),
        ("a:٣", None),
        ("::1:80", None),
        ("[::1:80", None),
        ("http://a:80", None),
        ("[a/b]:80", None),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int] | None) -> None:
    """ "``:port`` means this machine only"."""
    if address is not None:
        assert split_address(text) == address
        return
    with pytest.raises(InvalidArgument) as refused:
        split_address(text)
    assert str(refused.value) == (
        f"host-port: {text!r}; host:port is accepted, as in localhost:8085"
    )


@pytest.mark.parametrize(
    ("headers", "local_only", "may_ask"),
    [
        ({}, True, True),
        ({"host": "localhost:8085"}, True, True),
        ({"host": "127.0.0.1"}, True, True),
        ({"host": "[::1]:1"}, True, True),
        ({"host": "attacker.example"}, True, False),
        ({"host": "attacker.example"}, False, True),
        ({"origin": "http://localhost:8085"}, True, False),
        ({"origin": "null"}, False, False),
        ({"sec-fetch-site": "none"}, True, True),
        ({"sec-fetch-site": "same-origin"}, True, True),
        ({"sec-fetch-site": "same-site"}, True, False),
        ({"sec-fetch-site": "cross-site"}, False, False),
    ],
)
def test_a_page_of_a_browser_does_not_ask_a_server_without_a_token(
    headers: dict[str, str], local_only: bool, may_ask: bool
) -> None:
    """Headers of the browser show it; "in DNS rebinding they do not, but the header Host does"."""
    head = RequestHead("POST", "/v1/projects/p/topics/t:publish", "", headers)
    if may_ask:
        gateway._check_sender(head, local_names_only=local_only)
        return
    with pytest.raises(PermissionDenied) as refused:
        gateway._check_sender(head, local_names_only=local_only)
    by_name = "Host: 'attacker.example'; a server without a token and TLS accepts localhost and "
    by_page = "a server without a token refuses requests of web pages; start it with a token, or "
    assert str(refused.value).startswith(by_name if "host" in headers else by_page)


def test_the_claims_of_a_push_are_googles() -> None:
    """Google, "Authenticate push": sub and azp are of the account; email_verified is true."""
    claims = push_tokens._claims("https://a", "p@p.example", "https://b/push", at(0), at(60))
    assert claims == {
        "iss": "https://a",
        "aud": "https://b/push",
        "azp": "p@p.example",
        "sub": "p@p.example",
        "email": "p@p.example",
        "email_verified": True,
        "iat": at(0),
        "exp": at(60),
    }


@pytest.mark.parametrize("view", [1, 2])
def test_a_revision_of_a_schema_is_told_whole(view: int) -> None:
    """ "BASIC: the name and the type, but not the definition"; 2 is FULL."""
    kept = Schema("projects/p/schemas/s", SchemaType.AVRO, '"int"', "0a1b2c3d", at(1.25), "u")
    told = MessageToDict(schema_message(kept, view), preserving_proto_field_name=True)
    expected: dict[str, Any] = {
        "name": "projects/p/schemas/s",
        "type_": "AVRO",
        **({"definition": '"int"'} if view == 2 else {}),
        "revision_id": "0a1b2c3d",
        "revision_create_time": "2026-01-01T00:00:01.250Z",
    }
    assert told == expected


def test_the_failure_of_some_ack_ids_counts_them_among_all() -> None:
    failed = AckIdFailure({"a": INVALID_ACK_ID, "b": OF_OTHERS}, of=["a", "b", "c", "c"])
    assert str(failed).startswith("1 of 3 ack ids failed; ")
    assert str(AckIdFailure({"d": INVALID_ACK_ID}, of=["a"])).startswith("1 of 2 ack ids failed; ")


def test_ack_ids_are_named_in_their_order_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that does not fit ends them: a shorter one behind it would hide that it is missing."""
    monkeypatch.setattr(status, "_NAMES_BYTES", 3 * status._size({"a": "why"}))
    assert status._fitting(dict.fromkeys("abc", "why")) == dict.fromkeys("abc", "why")
    assert status._fitting(dict.fromkeys("abcd", "why")) == dict.fromkeys("abc", "why")
    assert status._fitting({"a": "why", "b" * 100: "why", "c": "why"}) == {"a": "why"}
    assert status._fitting({}) == {}


@pytest.mark.parametrize("twice", ["a", "é", ""])
def test_a_field_that_is_given_twice_is_named_as_it_was_written(twice: str) -> None:
    assert payload._unique([("b", 1), (twice, 2)]) == {"b": 1, twice: 2}
    with pytest.raises(InvalidArgument) as refused:
        payload._unique([("b", 1), (twice, 2), ("c", 3), (twice, 2)])
    assert str(refused.value) == (
        f'Invalid JSON payload received: "{twice}" appears twice in one object'
    )


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (NotFound("topic a: it is not there"), "NOT_FOUND", "topic a: it is not there"),
        (RuntimeError("broken"), "INTERNAL", "broken"),
    ],
)
def test_a_call_that_is_refused_is_counted_and_told(
    error: Exception, code: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its method and its code are fields of the record; a traceback stands for the unexpected."""
    ended: list[Any] = []

    class Call:
        async def abort(self, *given: Any, **_: Any) -> None:
            ended.append(given[0].name)

    counters = Counters()

    async def refused() -> None:
        async with interceptors._counted("Publisher/Publish", Call(), counters):
            raise error

    with caplog.at_level("INFO", "pubsub_delta"):
        asyncio.run(refused())
    assert ended == [code]
    assert counters.requests["Publisher/Publish", code] == 1
    first, *others = caplog.records
    assert (first.levelname, first.getMessage()) == ("INFO", f"Publisher/Publish: {code}: {said}")
    assert (vars(first)["method"], vars(first)["code"]) == ("Publisher/Publish", code)
    assert [(each.levelname, each.exc_info is not None) for each in others] == (
        [] if code == "NOT_FOUND" else [("ERROR", True)]
    )
