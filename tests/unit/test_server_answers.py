"""Answers to raw calls: the codes, names and texts that Google's service gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from google.protobuf.duration_pb2 import Duration

from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, SUBSCRIBER
from pubsub_delta.server.publisher_service import paging
from tests.unit.raw_calls import Server, refused
from tests.unit.serving_world import WorldBackend, served

TOPIC = "projects/p/topics/any"
SUBSCRIPTION = "projects/p/subscriptions/any"
PYTHON = re.compile(r"Message\(|timedelta|\bNone\b|\bTrue\b|\bFalse\b|b'|object at|Error:")
"""What Python writes, and nobody else."""


@pytest.fixture
def server() -> Iterator[Server]:
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        server = Server(channel)
        server.call(PUBLISHER, "CreateTopic", name=TOPIC)
        server.call(SUBSCRIBER, "CreateSubscription", name=SUBSCRIPTION, topic=TOPIC)
        yield server


@pytest.mark.parametrize(("asked", "size"), [(0, 1_000), (7, 7), (1_000, 1_000), (1_001, 1_000)])
def test_a_page_of_a_listing_has_a_thousand_resources_at_most(asked: int, size: int) -> None:
    """Memory: a response is made as a whole, whatever its client asks for."""
    paged = paging(SimpleNamespace(page_size=asked, page_token="t"))
    assert paged == {"page_size": size, "page_token": "t"}


@pytest.mark.parametrize("kind", ["topic", "subscription", "snapshot"])
def test_a_page_of_a_listing_ends_before_it_is_larger_than_clients_accept(
    server: Server, kind: str
) -> None:
    """ "The Python library takes no response above 4 MiB from an emulator. Responses are kept
    below that"; AIP-158: "The API may return fewer results than the number requested"."""
    service = PUBLISHER if kind == "topic" else SUBSCRIBER
    of = {"subscription": {"topic": TOPIC}, "snapshot": {"subscription": SUBSCRIPTION}}
    labels = {f"{n:063}": "x" * 63 for n in range(12_000)}
    names = [f"projects/many/{kind}s/any-{n}" for n in range(3)]
    for name in names:
        made = {"name": name, "labels": labels, **of.get(kind, {})}
        server.call(service, f"Create{kind.capitalize()}", **made)
    found: list[str] = []
    sizes: list[int] = []
    token = ""
    while token or not sizes:
        asked = {"project": "projects/many", "page_size": 3, "page_token": token}
        answer = server.call(service, f"List{kind.capitalize()}s", **asked)
        page = [each.name for each in getattr(answer, f"{kind}s")]
        found, token, sizes = found + page, answer.next_page_token, [*sizes, len(page)]
    assert (found, sizes) == (names, [1, 1, 1])


def test_a_snapshot_has_no_tags(server: Server) -> None:
    """ "`UNIMPLEMENTED` names the field; one that is there and empty says nothing"."""
    made = {"name": "projects/p/snapshots/before", "subscription": SUBSCRIPTION}
    with refused("UNIMPLEMENTED", "tags: there is no resource manager"):
        server.call(SUBSCRIBER, "CreateSnapshot", **made, tags={"123/a": "b"})
    assert not server.call(SUBSCRIBER, "ListSnapshots", project="projects/p").snapshots


def test_a_page_of_fewer_resources_than_none_is_refused(server: Server) -> None:
    # AIP-158: "If the user specifies a negative value for page_size, the API must send an
    # INVALID_ARGUMENT error"
    for kind in ("ListTopics", "ListSnapshots"):
        service = PUBLISHER if kind == "ListTopics" else SUBSCRIBER
        with refused("INVALID_ARGUMENT", "page_size: -1; 0"):
            server.call(service, kind, project="projects/p", page_size=-1)


# Publishing


def test_attributes_of_opentelemetry_are_published(server: Server) -> None:
    # "googclient_traceparent and googclient_tracestate accepted, other goog… refused in any case"
    traced = {"googclient_traceparent": "00-0af7-01", "googclient_tracestate": "", "a": "b"}
    publish(server, {"data": b"x", "attributes": traced})
    asked = {"subscription": SUBSCRIPTION, "max_messages": 9}
    (found,) = server.call(SUBSCRIBER, "Pull", **asked).received_messages
    assert found.message.attributes == traced
    for key in ("googclient_other", "Googclient_traceparent", "GOOG"):
        with refused("INVALID_ARGUMENT", rf"messages\[0\]: attributes: '{key}'"):
            publish(server, {"data": b"x", "attributes": {key: "v"}})


@pytest.mark.parametrize(
    "sizes", [[10_000_001], [5_000_000, 5_000_001], [17_000_000], [40_000_000]]
)
def test_a_request_of_more_than_ten_million_bytes_is_refused_for_good(
    server: Server, sizes: list[int]
) -> None:
    # "more than 10,000,000 bytes a request INVALID_ARGUMENT, also above gRPC's own limit, never a
    # code that clients retry"
    with refused("INVALID_ARGUMENT", "10,000,000 bytes"):
        publish(server, *({"data": b"x" * size} for size in sizes))
    assert publish(server, {"data": b"x" * 5_000_000}, {"data": b"x" * 5_000_000}) == 2


def test_a_stream_with_a_request_of_many_bytes_ends_for_good(server: Server) -> None:
    of = SERVICES[SUBSCRIBER]["StreamingPull"]
    pull = server.channel.stream_stream(
        f"/{SUBSCRIBER}/StreamingPull",
        request_serializer=of.request.SerializeToString,
        response_deserializer=of.response.FromString,
    )
    first = of.request(subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10)
    huge = of.request(ack_ids=["9" * 17_000_000])
    with refused("INVALID_ARGUMENT", "10,000,000 bytes"):
        list(pull(iter([first, huge])))


def test_what_is_no_protobuf_is_refused_for_good(server: Server) -> None:
    with refused("INVALID_ARGUMENT", r"the request is not a google\.pubsub\.v1\.PublishRequest"):
        server.send(PUBLISHER, "Publish", b"\xff\xff")
    with refused("INVALID_ARGUMENT", "UTF-8"):
        server.send(PUBLISHER, "GetTopic", b"\x0a\x02\xff\xfe")


def publish(server: Server, *messages: Any) -> int:
    asked = {"topic": TOPIC, "messages": messages}
    return len(server.call(PUBLISHER, "Publish", **asked).message_ids)


# Names


def test_who_names_no_subscription_is_given_a_name(server: Server) -> None:
    # "If the name is not provided in the request, the server will assign a random name for this
    # subscription on the same project as the topic."
    made = [server.call(SUBSCRIBER, "CreateSubscription", topic=TOPIC).name for _ in range(2)]
    assert len(set(made)) == 2
    for name in made:
        assert name.startswith("projects/p/subscriptions/")
        got = server.call(SUBSCRIBER, "GetSubscription", subscription=name)
        assert (got.name, got.topic) == (name, TOPIC)


def test_who_names_no_snapshot_is_given_a_name(server: Server) -> None:
    # "... the server will assign a random name for this snapshot on the same project as the
    # subscription."
    name = server.call(SUBSCRIBER, "CreateSnapshot", subscription=SUBSCRIPTION).name
    assert name.startswith("projects/p/snapshots/")
    assert server.call(SUBSCRIBER, "GetSnapshot", snapshot=name).topic == TOPIC


def test_a_topic_needs_a_name(server: Server) -> None:
    with refused("INVALID_ARGUMENT", "^name: '' is not a full name|name: ''"):
        server.call(PUBLISHER, "CreateTopic")


# Texts

_BAD = [
    (PUBLISHER, "CreateTopic", {"name": "any"}, "name: 'any' is not a full name"),
    (
        PUBLISHER,
        "CreateTopic",
        {"name": f"{TOPIC}2", "message_retention_duration": Duration(seconds=9_999_999)},
        "message_retention_duration: 9999999s is out of range",
    ),
    (
        SUBSCRIBER,
        "CreateSubscription",
        {
            "name": f"{SUBSCRIPTION}2",
            "topic": TOPIC,
            "retry_policy": {"minimum_backoff": Duration(seconds=700)},
        },
        r"retry_policy\.minimum_backoff: 700s is out of range",
    ),
    (
        SUBSCRIBER,
        "CreateSubscription",
        {
            "name": f"{SUBSCRIPTION}2",
            "topic": TOPIC,
            "expiration_policy": {"ttl": Duration(seconds=3)},
        },
        r"expiration_policy\.ttl: 3s is out of range",
    ),
    (SUBSCRIBER, "Pull", {"subscription": SUBSCRIPTION}, "max_messages: 0"),
    (PUBLISHER, "ListTopics", {"project": "projects/p", "page_token": "x"}, "page_token: 'x'"),
    (PUBLISHER, "Publish", {"topic": TOPIC, "messages": [{}]}, r"messages\[0\]"),
    (
        PUBLISHER,
        "Publish",
        {"topic": TOPIC, "messages": [{"data": b"x\xff", "ordering_key": "k" * 3_000}]},
        r"messages\[0\]: ordering_key: 3,000 bytes",
    ),
    (
        PUBLISHER,
        "Publish",
        {"topic": TOPIC, "messages": [{"data": b"x", "attributes": {"k": "v" * 3_000}}]},
        r"messages\[0\]: attributes: the value of 'k' has 3,000 bytes",
    ),
    (
        SUBSCRIBER,
        "UpdateSubscription",
        {"subscription": {"name": SUBSCRIPTION}, "update_mask": {"paths": ["topic"]}},
        "'topic' cannot be changed",
    ),
    (
        SUBSCRIBER,
        "UpdateSubscription",
        {"subscription": {"name": "x"}, "update_mask": {"paths": ["labels"]}},
        r"subscription\.name: 'x'",
    ),
    (
        SUBSCRIBER,
        "UpdateSubscription",
        {"subscription": {"name": SUBSCRIPTION}, "update_mask": {"paths": ["labels.x.y"]}},
        r"update_mask: 'labels\.x\.y'",
    ),
]


@pytest.mark.parametrize(("service", "method", "fields", "told"), _BAD)
def test_an_error_is_for_the_person_who_made_the_call(
    server: Server, service: str, method: str, fields: Any, told: str
) -> None:
    # "text in errors is for the person who made the call": no Python, no kilobytes of payload
    with refused("INVALID_ARGUMENT", told) as raised:
        server.call(service, method, **fields)
    details = raised.value.details()
    assert not PYTHON.search(details), details
    assert len(details) < 400


def test_what_nobody_meant_shows_nothing_of_the_server() -> None:
    backend = WorldBackend()

    def fail(*_: Any, **__: Any) -> Any:
        raise KeyError("/home/someone/secret")

    with served(backend) as address, grpc.insecure_channel(address) as channel:
        backend.administration.get_topic = fail  # type: ignore[method-assign]
        with refused("INTERNAL", r"unexpectedly.*log") as raised:
            Server(channel).call(PUBLISHER, "GetTopic", topic=TOPIC)
    assert "secret" not in raised.value.details()
