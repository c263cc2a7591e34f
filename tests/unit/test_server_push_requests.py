"""What is sent to an endpoint for a message: Google's JSON, or the bare data with headers."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta import NoWrapper, PushConfig, ReceivedMessage, __version__
from pubsub_delta.clock import UTC
from pubsub_delta.server.push_requests import PushRequest, push_request
from tests.unit.builders import PLAIN

URL = "https://example.com/push"
RECEIVED = ReceivedMessage(
    ack_id="a",
    message_id="17",
    publish_time=datetime(2026, 2, 26, 19, 13, 55, 749_000, UTC),
    data=b"\x00data\xff",
    attributes={"key": "value"},
    ordering_key="k",
    delivery_attempt=None,
)


def sent(bare: NoWrapper | None = None, **fields: Any) -> PushRequest:
    config = PushConfig(URL, no_wrapper=bare)
    return push_request(config, PLAIN.name, replace(RECEIVED, **fields))


def headers(request: PushRequest) -> dict[str, str]:
    assert len(dict(request.headers)) == len(request.headers)
    return dict(request.headers)


def test_a_message_is_wrapped_in_googles_json() -> None:
    # the example of "Receive push messages", with its names in both spellings
    request = sent()
    assert json.loads(request.body) == {
        "message": {
            "attributes": {"key": "value"},
            "data": base64.b64encode(RECEIVED.data).decode(),
            "messageId": "17",
            "message_id": "17",
            "publishTime": "2026-02-26T19:13:55.749Z",
            "publish_time": "2026-02-26T19:13:55.749Z",
            "orderingKey": "k",
        },
        "subscription": PLAIN.name,
    }
    assert headers(request) == {
        "Content-Type": "application/json",
        "User-Agent": f"pubsub-delta/{__version__}",
    }


def test_empty_fields_are_absent_from_the_json() -> None:
    time = RECEIVED.publish_time.replace(microsecond=749_001)
    told = json.loads(sent(data=b"", ordering_key="", publish_time=time).body)["message"]
    assert set(told) == {"attributes", "messageId", "message_id", "publishTime", "publish_time"}
    assert told["publishTime"] == "2026-02-26T19:13:55.749001Z"
    assert "attributes" not in json.loads(sent(attributes={}).body)["message"]


def test_the_delivery_attempt_is_told_where_it_is_counted() -> None:
    # "deliveryAttempt": only with a dead-letter policy
    assert json.loads(sent(delivery_attempt=5).body)["deliveryAttempt"] == 5
    assert "deliveryAttempt" not in json.loads(sent().body)


def test_without_the_wrapper_the_body_is_the_data() -> None:
    request = sent(NoWrapper())
    assert request.body == RECEIVED.data
    assert set(headers(request)) == {"Content-Type", "User-Agent"}
    assert headers(request)["Content-Type"] == "application/octet-stream"


def test_metadata_and_attributes_are_headers_if_wanted() -> None:
    # "Writes the Pub/Sub message metadata to x-goog-pubsub-<KEY>:<VAL> headers … attributes to
    # <KEY>:<VAL> headers"
    attributes = {"key": "value", "Content-Type": "text/plain"}
    request = sent(NoWrapper(write_metadata=True), attributes=attributes, delivery_attempt=2)
    assert request.body == RECEIVED.data
    assert headers(request) == {
        "User-Agent": f"pubsub-delta/{__version__}",
        "x-goog-pubsub-subscription-name": PLAIN.name,
        "x-goog-pubsub-message-id": "17",
        "x-goog-pubsub-publish-time": "2026-02-26T19:13:55.749Z",
        "x-goog-pubsub-ordering-key": "k",
        "x-goog-pubsub-delivery-attempt": "2",
        **attributes,
    }


@pytest.mark.parametrize(
    ("bare", "attributes", "expected"),
    [
        (None, {"content-type": "text/plain"}, "application/json"),
        (NoWrapper(), {"content-type": "text/plain"}, "application/octet-stream"),
        (NoWrapper(write_metadata=True), {}, "application/octet-stream"),
        (NoWrapper(write_metadata=True), {"type": "text/plain"}, "application/octet-stream"),
        (NoWrapper(write_metadata=True), {"content-type": "text/plain"}, "text/plain"),
        (NoWrapper(write_metadata=True), {"CONTENT-TYPE": "text/plain"}, "text/plain"),
        (NoWrapper(write_metadata=True), {"content-type": "é"}, "application/octet-stream"),
    ],
)
def test_each_request_tells_one_type_of_its_body(
    bare: NoWrapper | None, attributes: dict[str, str], expected: str
) -> None:
    """Bare data is bytes of any kind, unless an attribute that is written says of which."""
    told = sent(bare, attributes=attributes).headers
    assert [value for name, value in told if name.lower() == "content-type"] == [expected]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "other.example"),
        ("content-length", "1"),
        ("Transfer-Encoding", "chunked"),
        ("Proxy-Authorization", "x"),
        ("user-agent", "other"),
        ("X-Goog-Pubsub-Message-Id", "18"),
        ("x_goog_pubsub_message_id", "18"),
        ("Proxy", "http://other.example"),
        ("with space", "x"),
        ("colon:", "x"),
        ("é", "x"),
        ("line", "one\r\nHost: other"),
        ("umlaut", "ü"),
        ("padded", " x "),
    ],
)
def test_attributes_that_cannot_be_headers_are_left_out(name: str, value: str) -> None:
    written = sent(NoWrapper(write_metadata=True), attributes={name: value, "ok": ""})
    plain = sent(NoWrapper(write_metadata=True), attributes={"ok": ""})
    assert headers(written) == headers(plain)
    assert headers(written)["ok"] == ""


def test_an_ordering_key_that_cannot_be_a_header_is_left_out() -> None:
    request = sent(NoWrapper(write_metadata=True), ordering_key="schlüssel")
    assert "x-goog-pubsub-ordering-key" not in headers(request)


@pytest.mark.parametrize("token", [None, "signed"])
def test_only_the_server_says_who_it_is(token: str | None) -> None:
    # "attach an OIDC JWT token as an `Authorization` header in the HTTP request"
    forged = dict.fromkeys(("Authorization", "authorization", "AUTHORIZATION"), "Bearer forged")
    config = PushConfig(URL, no_wrapper=NoWrapper(write_metadata=True))
    request = push_request(config, PLAIN.name, replace(RECEIVED, attributes=forged), token)
    named = [value for name, value in request.headers if name.lower() == "authorization"]
    assert named == ([] if token is None else ["Bearer signed"])


@pytest.mark.parametrize(
    ("micros", "digits"),
    [(0, "000"), (1, "000001"), (100, "000100"), (250_000, "250"), (999_900, "999900")],
)
def test_a_publish_time_keeps_every_digit(micros: int, digits: str) -> None:
    """ "What was published is what is received." """
    time = datetime(2026, 1, 1, microsecond=micros, tzinfo=UTC)
    told = json.loads(sent(publish_time=time).body)["message"]
    assert told["publishTime"] == told["publish_time"] == f"2026-01-01T00:00:00.{digits}Z"
