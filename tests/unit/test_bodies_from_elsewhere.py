"""Requests from anywhere: answered, or refused by a code of the caller's, and nothing stops.

Bodies of JSON are generated as text and requests of gRPC as bytes, so that they hold what no value
of Python is: a name twice, half a surrogate, numbers of any size, fields that no message has.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, SUBSCRIBER
from pubsub_delta.server.rest import bindings, transcoding
from pubsub_delta.server.rest.responses import error_response
from tests.unit.body_cases import bodies, protobufs
from tests.unit.raw_calls import Server
from tests.unit.serving import LONG
from tests.unit.serving_world import WorldBackend, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

FLIGHTS = "projects/local/topics/flights"
DELAYS = "projects/local/subscriptions/delays"
WITH_A_BODY = [each for each in bindings.BINDINGS if each.body]
OF_CALLERS = {
    *("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "UNIMPLEMENTED"),
    "OUT_OF_RANGE",
}
"""What a request may be refused with that is wrong, or means what is not there."""
CODES = {transcoding.HTTP_CODES[each] for each in OF_CALLERS}

long = settings(deadline=None, max_examples=100)


@long
@given(st.data())
def test_a_body_is_a_message_or_refused(data: st.DataObject) -> None:
    binding = data.draw(st.sampled_from(WITH_A_BODY))
    of = binding.method.request.DESCRIPTOR
    if binding.body != "*":
        of = of.fields_by_name[binding.body].message_type
    body = data.draw(bodies(of)).encode("utf-8", "surrogatepass")
    try:
        message = transcoding.request_of(binding, {}, {}, body)
    except InvalidArgument as error:
        reply = error_response(error)
        assert reply.status == 400
        assert len(reply.body) < 4_000
    else:
        assert message.FromString(message.SerializeToString()) == message
        assert transcoding.response_of(message, enums_as_numbers=False) is not None


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[WorldBackend, str]]:
    backend = WorldBackend()
    backend.store.create_topic("flights")
    backend.store.create_subscription("delays", "flights")
    with served(backend) as address:
        yield backend, address


def posted(address: str, target: str, body: bytes) -> tuple[int, bytes]:
    connection = HTTPConnection(address, timeout=LONG)
    connection.request("POST", target, body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    read = reply.status, reply.read()
    connection.close()
    return read


def delivered(address: str) -> list[Any]:
    """Pull everything from the server, which may not fail, and acknowledge it."""
    found: list[Any] = []
    with grpc.insecure_channel(address) as channel:
        server = Server(channel)
        asked = {"subscription": DELAYS, "max_messages": 100, "return_immediately": True}
        while pulled := server.call(SUBSCRIBER, "Pull", **asked).received_messages:
            found += [each.message for each in pulled]
            ids = [each.ack_id for each in pulled]
            server.call(SUBSCRIBER, "Acknowledge", subscription=DELAYS, ack_ids=ids)
    return found


@long
@given(bodies(SERVICES[PUBLISHER]["Publish"].request.DESCRIPTOR))
@example('{"messages": [{"data": "YQ", "attributes": {"\\ud800": "a"}}]}')
@example('{"messages": [{"data": "YQ==", "orderingKey": "\\ud83d\\ude00"}]}')
@example('{"messages": [{"attributes": {"a": "\\u0000"}}]}')
def test_what_is_published_by_json_can_be_pulled(
    world: tuple[WorldBackend, str], body: str
) -> None:
    backend, address = world
    sent = body.encode("utf-8", "surrogatepass")
    status, read = posted(address, f"/v1/{FLIGHTS}:publish", sent)
    count = read.count(b'"messageIds"') and len(json.loads(read)["messageIds"])
    assert status in ({200} if count else CODES), read
    looked = backend.open("local").peek("delays", 1_000)
    assert len(looked) == count
    assert Counter(each.data for each in delivered(address)) == Counter(
        each.data for each in looked
    )


CALLS = [
    (
        PUBLISHER,
        "Publish",
        {"topic": FLIGHTS, "messages": [{"data": b"a", "attributes": {"k": "v"}}]},
    ),
    (PUBLISHER, "CreateTopic", {"name": "projects/local/topics/other", "labels": {"a": "b"}}),
    (PUBLISHER, "GetTopic", {"topic": FLIGHTS}),
    (SUBSCRIBER, "Acknowledge", {"subscription": DELAYS, "ack_ids": ["a"]}),
    (SUBSCRIBER, "ModifyAckDeadline", {"subscription": DELAYS, "ack_ids": ["a"]}),
    (SUBSCRIBER, "Seek", {"subscription": DELAYS, "snapshot": "projects/local/snapshots/abc"}),
    (SUBSCRIBER, "CreateSubscription", {"name": DELAYS, "topic": FLIGHTS, "filter": "x"}),
]


def code_of(server: Server, service: str, method: str, request: bytes) -> str:
    try:
        server.send(service, method, request)
    except grpc.RpcError as error:
        told: Any = error
        return str(told.code().name)
    return "OK"


@pytest.mark.parametrize(("service", "method", "fields"), CALLS, ids=[each[1] for each in CALLS])
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_bytes_are_a_request_or_refused(
    world: tuple[WorldBackend, str], service: str, method: str, fields: Any, data: st.DataObject
) -> None:
    backend, address = world
    request = SERVICES[service][method].request(**fields)
    with grpc.insecure_channel(address) as channel:
        assert code_of(Server(channel), service, method, data.draw(protobufs(request))) in {
            "OK",
            *OF_CALLERS,
        }
    looked = backend.open("local").peek("delays", 1_000)
    assert Counter(each.data for each in delivered(address)) == Counter(
        each.data for each in looked
    )
