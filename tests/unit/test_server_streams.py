"""StreamingPull as it is on the wire, without a client's own lease management."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("grpc")
from collections.abc import AsyncIterator

from google.api_core import exceptions

from pubsub_delta.server import dispatcher
from tests.unit.serving import (
    SUBSCRIPTION,
    TOPIC,
    MemoryStore,
    RawStream,
    clients,
    eventually,
    publish,
    serving,
)
from tests.unit.serving_calls import NAME, Calls, running

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def test_confirmations_come_on_the_stream_with_exactly_once_delivery() -> None:
    store = MemoryStore({"enable_exactly_once_delivery": True})
    with serving(store) as address, clients(address) as (publisher, subscriber):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x"}]})
        stream = RawStream(subscriber)
        told = stream.hear()
        assert told.subscription_properties.exactly_once_delivery_enabled
        (ack_id,) = (each.ack_id for each in told.received_messages)
        stream.say(modify_deadline_ack_ids=[ack_id], modify_deadline_seconds=[20])
        assert list(stream.hear().modify_ack_deadline_confirmation.ack_ids) == [ack_id]
        stream.say(ack_ids=[ack_id, "nonsense"])
        confirmed = stream.hear().acknowledge_confirmation
        assert list(confirmed.ack_ids) == [ack_id]
        assert list(confirmed.invalid_ack_ids) == ["nonsense"]
        assert store.unacked == []
        stream.say(ack_ids=[ack_id])  # its outcome was told
        confirmed = stream.hear().acknowledge_confirmation
        assert (list(confirmed.ack_ids), list(confirmed.invalid_ack_ids)) == ([], [ack_id])
        stream.close()


def test_each_ack_id_of_a_request_gets_the_deadline_beside_it() -> None:
    """modify_deadline_seconds: "new ack deadlines for the IDs listed in" the other list."""
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": each} for each in (b"a", b"b")]})
        stream = RawStream(subscriber)
        ids = heard(stream, 2)
        stream.say(modify_deadline_ack_ids=[ids[b"a"], ids[b"b"]], modify_deadline_seconds=[0, 60])
        again = heard(stream, 1)
        assert set(again) == {b"a"}, "the other one has 60 seconds more"
        both = [again[b"a"], ids[b"b"]]
        stream.say(modify_deadline_ack_ids=both, modify_deadline_seconds=[60, 0])
        once_more = heard(stream, 1)
        assert set(once_more) == {b"b"}
        stream.say(ack_ids=[again[b"a"], once_more[b"b"]])
        eventually(lambda: store.unacked == [])
        stream.close()


def heard(stream: RawStream, count: int) -> dict[bytes, str]:
    """Return the ack IDs of the next messages, by their data."""
    found: dict[bytes, str] = {}
    while len(found) < count:
        found |= {each.message.data: each.ack_id for each in stream.hear().received_messages}
    return found


def test_an_empty_request_is_answered_at_once() -> None:
    """Clients of protocol version 1 close a stream that does not answer."""
    with serving(MemoryStore()) as address, clients(address) as (_, subscriber):
        stream = RawStream(subscriber, protocol_version=1)
        for _ in range(3):
            stream.say()
            answer = stream.hear()
            assert not answer.received_messages
            assert answer.subscription_properties is not None
        stream.close()


def test_an_older_client_gets_no_answer_to_an_empty_request() -> None:
    """protocol_version: "the server sends keep-alives" only to clients that say they know them."""
    with serving(MemoryStore()) as address, clients(address) as (publisher, subscriber):
        stream = RawStream(subscriber)
        stream.say()
        stream.say(stream_ack_deadline_seconds=30)
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x"}]})
        assert [each.message.data for each in stream.hear().received_messages] == [b"x"]
        stream.close()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("subscription", SUBSCRIPTION),
        ("client_id", "one"),
        ("max_outstanding_messages", 5),
        ("max_outstanding_bytes", 5),
        ("protocol_version", 1),
    ],
)
def test_what_the_first_request_alone_may_set_ends_the_stream(field: str, value: object) -> None:
    # "If it is set on a subsequent request, the stream will be aborted with INVALID_ARGUMENT."
    with serving(MemoryStore()) as address, clients(address) as (_, subscriber):
        stream = RawStream(subscriber)
        stream.say(**{field: value})
        with pytest.raises(exceptions.InvalidArgument, match=field):
            stream.hear()


def test_a_lease_survives_a_reconnect() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x"}]})
        first = RawStream(subscriber)
        (held,) = first.hear().received_messages
        first.close()
        second = RawStream(subscriber)
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"y"}]})
        (other,) = second.hear().received_messages
        assert other.message.data == b"y"  # x is still held
        second.say(ack_ids=[held.ack_id])
        eventually(lambda: store.unacked == [1])
        second.close()


@pytest.mark.parametrize(
    ("first", "later", "told"),
    [
        ({"stream_ack_deadline_seconds": 9}, {}, "stream_ack_deadline_seconds"),
        ({"stream_ack_deadline_seconds": 601}, {}, "stream_ack_deadline_seconds"),
        ({}, {"ack_ids": ["nonsense"]}, "not an ack id"),
        ({}, {"modify_deadline_ack_ids": ["x"]}, "modify_deadline_seconds"),
        ({}, {"modify_deadline_seconds": [10]}, "modify_deadline_seconds"),
        ({}, {"subscription": SUBSCRIPTION}, "first request"),
    ],
)
def test_a_wrong_request_ends_the_stream(
    first: dict[str, Any], later: dict[str, Any], told: str
) -> None:
    with serving(MemoryStore()) as address, clients(address) as (_, subscriber):
        stream = RawStream(subscriber, **first)
        stream.say(**later)
        with pytest.raises(exceptions.InvalidArgument, match=told):
            stream.hear()
        stream.close()


@pytest.mark.parametrize("seconds", [10, 600])
def test_a_stream_has_an_ack_deadline_of_10_to_600_seconds(seconds: int) -> None:
    """Pub/Sub: "The minimum deadline … is 10 seconds. The maximum … is 600 seconds"."""
    with serving(MemoryStore()) as address, clients(address) as (publisher, subscriber):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"a"}]})
        stream = RawStream(subscriber, stream_ack_deadline_seconds=seconds)
        assert len(stream.hear().received_messages) == 1
        stream.close()


def test_prefetched_messages_go_back_when_the_last_client_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatcher, "_KEPT_FOR_NOBODY", 0.1)
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        big = {"data": b"x" * 1000, "ordering_key": "key"}
        publish(publisher, {"topic": TOPIC, "messages": [big] * 10})
        stream = RawStream(subscriber, max_outstanding_bytes=2_500)
        assert len(stream.hear().received_messages) == 2
        assert len(store.leased) == 10
        stream.close()
        eventually(lambda: len(store.leased) == 2)


def test_prefetched_messages_are_kept_for_a_client_that_is_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Given back they would be leased again and again, by a commit each."""
    monkeypatch.setattr(dispatcher, "_KEPT_FOR_NOBODY", 0.1)
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x", "ordering_key": "k"}] * 9})
        stream = RawStream(subscriber, max_outstanding_messages=2)
        assert len(stream.hear().received_messages) == 2
        eventually(lambda: len(store.leased) == 8)
        before = store.state.next_lease_id
        time.sleep(0.5)
        assert (len(store.leased), store.state.next_lease_id) == (8, before)
        stream.close()


def test_a_single_client_does_not_starve_another() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        streams = [RawStream(subscriber, max_outstanding_messages=100) for _ in range(4)]
        eventually(lambda: store.counters.open_streams == 4)
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x"}] * 40})
        for stream in streams:
            heard = 0
            while heard < 10:
                heard += len(stream.hear().received_messages)
            assert heard == 10
        for stream in streams:
            stream.close()


def test_a_stream_that_says_nothing_ends() -> None:
    async def nothing() -> AsyncIterator[Any]:
        none: list[Any] = []
        for each in none:
            yield each

    async def test(calls: Calls) -> None:
        assert [each async for each in calls.stream(nothing())] == []
        assert calls.hub.running(NAME) is None

    running(test)
