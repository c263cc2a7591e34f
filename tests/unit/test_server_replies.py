"""Every reply fits into what clients take, and none lets a failure pass for a success."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("grpc")
import grpc
from google.api_core import exceptions
from google.cloud.pubsub_v1.subscriber._protocol import streaming_pull_manager as google
from google.cloud.pubsub_v1.subscriber._protocol.requests import AckRequest
from google.rpc import status_pb2

from pubsub_delta.errors import Aborted, InvalidArgument
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.resources import Message
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS, TRANSIENT
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, SUBSCRIBER
from pubsub_delta.server.status import DETAILS, AckIdFailure, abort, check_lengths, status_of
from tests.unit.builders import PLAIN
from tests.unit.serving import (
    LONG,
    QUICK,
    SUBSCRIPTION,
    TOPIC,
    MemoryStore,
    clients,
    publish,
    serving,
)
from tests.unit.serving_world import WorldBackend, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

ANY_TOPIC = "projects/p/topics/any"
METADATA = 8 * 1024
"""Bytes of metadata that gRPC takes, unless it is told otherwise."""
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


def weight(error: BaseException) -> int:
    """Return the bytes of an error's metadata on the wire, 32 for each entry as HTTP/2 counts."""
    status = status_of(error)
    details = -(-len(status.SerializeToString()) // 3) * 4
    entries = {
        ":status": 3,
        "content-type": len("application/grpc"),
        "grpc-status": 2,
        "grpc-message": len(quote(status.message, safe=_PRINTABLE)),
        DETAILS: details,
    }
    return sum(len(name) + size + 32 for name, size in entries.items())


def some(count: int, lease: int = 123_456_789) -> list[str]:
    return [str(AckId(PLAIN.uid, lease, n)) for n in range(count)]


# What clients make of a reply


class Client:
    """Google's client for Python, as far as it acknowledges with exactly-once delivery."""

    def __init__(self, subscriber: Any, ack_ids: Iterable[str]) -> None:
        self._subscriber = subscriber
        self.futures: dict[str, Future[Any]] = {each: Future() for each in ack_ids}
        self.rounds = 0

    def say(self, name: str, **more: Any) -> None:
        """Say something of all ids, and of those again that the client would say again."""
        left = [AckRequest(each, 0, 0, None, future) for each, future in self.futures.items()]
        while left:
            self.rounds += 1
            assert self.rounds < 50
            status, named = self._told(name, [each.ack_id for each in left], more)
            by_id = {each.ack_id: each for each in left}
            _, left = google._process_requests(status, by_id, named)

    def _told(self, name: str, ack_ids: list[str], more: dict[str, Any]) -> tuple[Any, Any]:
        asked = {"subscription": SUBSCRIPTION, "ack_ids": ack_ids, **more}
        try:
            getattr(self._subscriber, name)(request=asked, timeout=LONG)
        except exceptions.GoogleAPICallError as error:
            return google._get_status(error), google._get_ack_errors(error)
        return None, None

    def succeeded(self) -> list[str]:
        return [each for each, future in self.futures.items() if future.exception(0) is None]


MIXTURES = pytest.mark.parametrize(
    ("failing", "fine", "most_rounds"),
    [(1, 0, 1), (300, 0, 1), (999, 0, 1), (20, 300, 2), (300, 20, 2), (300, 300, 10)],
)


@MIXTURES
def test_no_ack_that_failed_passes_for_one_that_succeeded(
    failing: int, fine: int, most_rounds: int
) -> None:
    # "per id: the good ids of the same call succeed"
    store = MemoryStore({"enable_exactly_once_delivery": True})
    with serving(store) as address, clients(address) as (publisher, subscriber):
        good = pulled(publisher, subscriber, fine)
        client = Client(subscriber, [*some(failing), *good])
        client.say("acknowledge")
    assert client.succeeded() == good
    assert client.rounds <= most_rounds
    assert store.unacked == []


@MIXTURES
def test_no_nack_that_failed_passes_for_one_that_succeeded(
    failing: int, fine: int, most_rounds: int
) -> None:
    store = MemoryStore({"enable_exactly_once_delivery": True})
    with serving(store) as address, clients(address) as (publisher, subscriber):
        good = pulled(publisher, subscriber, fine)
        client = Client(subscriber, [*some(failing), *good])
        client.say("modify_ack_deadline", ack_deadline_seconds=0)
    assert client.succeeded() == good
    assert client.rounds <= most_rounds


def pulled(publisher: Any, subscriber: Any, count: int) -> list[str]:
    """Publish messages and pull them; return their ack ids."""
    if not count:
        return []
    publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x"}] * count})
    found: list[str] = []
    while len(found) < count:
        asked = {"subscription": SUBSCRIPTION, "max_messages": count - len(found)}
        found += [each.ack_id for each in subscriber.pull(request=asked).received_messages]
    return found


@pytest.mark.parametrize("failing", [0, 3, 40, 49, 60, 1000])
@pytest.mark.parametrize("unwritten", [0, 3, 60, 1000])
@pytest.mark.parametrize("fine", [0, 3, 60, 1000])
def test_what_is_not_named_goes_by_the_code(failing: int, unwritten: int, fine: int) -> None:
    if not failing + unwritten:
        return
    lost = dict.fromkeys(some(failing, 1), INVALID_ACK_ID)
    later = dict.fromkeys(some(unwritten, 2), TRANSIENT)
    error = AckIdFailure({**later, **lost}, of=[*lost, *later, *some(fine, 3)])
    assert weight(error) < METADATA
    by_code = {"INVALID_ARGUMENT": INVALID_ACK_ID, "ABORTED": OF_OTHERS}[error.code]
    told = {each: error.named.get(each, by_code) for each in (*lost, *later, *some(fine, 3))}
    assert {told[each] for each in some(fine, 3)} <= {OF_OTHERS}
    assert INVALID_ACK_ID not in {told[each] for each in later}
    assert error.named.keys() & lost.keys() or not lost or error.code == "INVALID_ARGUMENT"
    if failing <= 40 or unwritten + fine <= 40:
        assert {told[each] for each in lost} <= {INVALID_ACK_ID}


def test_those_that_succeeded_are_not_named_where_only_the_failed_ones_can_be() -> None:
    # a client for Java takes for a success what is not named
    error = AckIdFailure(dict.fromkeys(some(2), INVALID_ACK_ID), of=some(99))
    assert error.named == dict.fromkeys(some(2), INVALID_ACK_ID)
    assert error.code == "ABORTED"


@pytest.mark.parametrize("exactly_once", [False, True])
def test_what_no_reply_could_name_is_refused_before_anything_is_done(exactly_once: bool) -> None:
    store = MemoryStore({"enable_exactly_once_delivery": exactly_once})
    with serving(store) as address, clients(address) as (publisher, subscriber):
        (good,) = pulled(publisher, subscriber, 1)
        asked = {"subscription": SUBSCRIPTION, "ack_ids": [good, "9" * 2_000_000]}
        with pytest.raises(exceptions.InvalidArgument, match="2,000,000 bytes is not an ack id"):
            subscriber.acknowledge(request=asked)
        with pytest.raises(exceptions.InvalidArgument, match="2,000,000 bytes is not an ack id"):
            subscriber.modify_ack_deadline(request={**asked, "ack_deadline_seconds": 20})
        assert store.unacked == [0]


def test_ids_of_any_characters_can_be_named() -> None:
    longest = "😀" * 250
    check_lengths([longest])
    with pytest.raises(InvalidArgument):
        check_lengths([f"{longest}x"])
    error = AckIdFailure(dict.fromkeys([longest, *some(500)], INVALID_ACK_ID), of=some(600))
    assert longest in error.named
    assert weight(error) < METADATA


# Texts


@pytest.mark.parametrize("character", ["x", "%", "\n", "é", "😀", "\x00", "\udc80", "'"])
@pytest.mark.parametrize("kind", [InvalidArgument, ValueError])
def test_a_value_of_megabytes_is_cut(character: str, kind: type[Exception]) -> None:
    error = kind(f"labels: {character * 3_000_000!r} or {character * 3_000_000}; 63 characters")
    assert weight(error) < METADATA
    assert status_of(error).message.endswith("63 characters") or kind is ValueError


@pytest.mark.parametrize("value", ["x" * 3_000_000, "é" * 1_000_000, "%\n" * 1_000_000])
@pytest.mark.parametrize(
    ("service", "method", "fields"),
    [
        (PUBLISHER, "GetTopic", lambda value: {"topic": value}),
        (PUBLISHER, "GetTopic", lambda value: {"topic": f"projects/p/topics/{value}"}),
        (PUBLISHER, "CreateTopic", lambda value: {"name": ANY_TOPIC, "labels": {value: value}}),
        (PUBLISHER, "ListTopics", lambda value: {"project": value}),
        (PUBLISHER, "ListTopics", lambda value: {"project": "projects/p", "page_token": value}),
        (SUBSCRIBER, "GetSnapshot", lambda value: {"snapshot": f"projects/p/snapshots/{value}"}),
        (SUBSCRIBER, "Acknowledge", lambda value: {"subscription": value, "ack_ids": [value]}),
    ],
)
def test_a_client_reads_the_error_of_a_value_of_megabytes(
    service: str, method: str, fields: Callable[[str], dict[str, Any]], value: str
) -> None:
    with (
        served(WorldBackend()) as address,
        grpc.insecure_channel(address) as channel,
        pytest.raises(grpc.RpcError) as raised,
    ):
        call(channel, service, method, **fields(value))
    told: Any = raised.value
    status = status_pb2.Status.FromString(dict(told.trailing_metadata())[DETAILS])
    assert told.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert 100 < len(status.message) <= 2_400
    assert status.message == told.details(), "clients do not read a status that says something else"


def call(channel: Any, service: str, method: str, **fields: Any) -> Any:
    """Call a method without what a library does around it."""
    of = SERVICES[service][method]
    ask = channel.unary_unary(
        f"/{service}/{method}",
        request_serializer=of.request.SerializeToString,
        response_deserializer=of.response.FromString,
    )
    return ask(of.request(**fields), timeout=LONG)


def test_a_value_that_is_not_too_long_is_told_whole() -> None:
    told = status_of(InvalidArgument(f"filter: {'x' * 1500!r} is too long")).message
    assert told == f"filter: {'x' * 1500!r} is too long"


# Replies that are no errors


def test_a_pull_of_many_small_messages_fits_into_a_response() -> None:
    # a client takes 4 MiB unless it is told otherwise, and there is more around each message
    store = MemoryStore()
    with serving(store) as address, grpc.insecure_channel(address) as channel:
        store._append([Message(b"x" * 140)] * 25_000)
        asked = {"subscription": SUBSCRIPTION, "max_messages": 100_000}
        found = call(channel, SUBSCRIBER, "Pull", **asked)
    assert found.received_messages


def test_what_was_not_written_is_no_success_where_acks_are_confirmed() -> None:
    # "With --confirm-acks the answer waits for the commit"
    store = MemoryStore()
    timing = replace(QUICK, confirm_acks=True)
    with serving(store, timing) as address, clients(address) as (publisher, subscriber):
        (good,) = pulled(publisher, subscriber, 1)

        def fail() -> None:
            raise Aborted("too many concurrent writers")

        store.before_exchange = fail
        with pytest.raises(exceptions.ServiceUnavailable, match="nothing was written"):
            subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[good], retry=None)
        store.before_exchange = lambda: None
        assert store.unacked == [0]


@pytest.mark.parametrize(
    ("error", "logged"), [(InvalidArgument("no name"), False), (KeyError("uid"), True)]
)
def test_a_failure_that_is_no_answer_is_logged(
    caplog: pytest.LogCaptureFixture, error: Exception, logged: bool
) -> None:
    """A fault of the server is for its operator; what a client did wrong is for the client."""

    class Context:
        async def abort(self, code: Any, details: str, trailing_metadata: Any) -> None:
            told.append(code)

    told: list[Any] = []
    asyncio.run(abort(Context(), error))
    assert told == [grpc.StatusCode.INTERNAL if logged else grpc.StatusCode.INVALID_ARGUMENT]
    assert [each.exc_info[1] for each in caplog.records if each.exc_info] == [error] * logged
