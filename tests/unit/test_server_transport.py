"""The server over gRPC, as the official client sees it, on a store in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from google.api_core import exceptions
from google.cloud import pubsub_v1
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pubsub_delta.errors import Aborted, PubSubError, Unavailable
from pubsub_delta.resources import Message
from pubsub_delta.server.publishing import Append
from pubsub_delta.server.security import Security
from pubsub_delta.tables.lanes.storage_errors import StorageRefused
from tests.unit.serving import (
    LONG,
    QUICK,
    SUBSCRIPTION,
    TOPIC,
    MemoryStore,
    clients,
    eventually,
    publish,
    serving,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def test_what_is_published_is_pulled_and_acknowledged() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        futures = [publisher.publish(TOPIC, b"%d" % n, kind="even") for n in range(3)]
        assert sorted(future.result(LONG) for future in futures) == ["0", "1", "2"]
        pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=10, timeout=LONG)
        received = pulled.received_messages
        assert sorted(each.message.data for each in received) == [b"0", b"1", b"2"]
        assert received[0].message.attributes == {"kind": "even"}
        subscriber.acknowledge(
            subscription=SUBSCRIPTION, ack_ids=[each.ack_id for each in received]
        )
        eventually(lambda: store.unacked == [])


def test_requests_that_come_during_an_append_are_one_append() -> None:
    store = SlowToAppend()
    timing = replace(QUICK, gather=0.3)
    with serving(store, timing) as address, clients(address) as (publisher, _):
        request = {"topic": TOPIC, "messages": [{"data": b"x"}] * 10}
        calls = [threading.Thread(target=publish, args=(publisher, request)) for _ in range(8)]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
    assert sum(store.appends) == 80
    assert len(store.appends) <= 3


class SlowToAppend(MemoryStore):
    """An append takes as long as eight threads take to ask for one."""

    def publisher(self, topic: str) -> Append:
        append = super().publisher(topic)

        def slow(messages: Sequence[Message]) -> Sequence[str]:
            time.sleep(0.5)
            return append(messages)

        return slow


def test_a_callback_gets_every_message_once() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        seen: list[bytes] = []

        def callback(message: Any) -> None:
            seen.append(message.data)
            message.ack()

        future = subscriber.subscribe(SUBSCRIPTION, callback)
        for n in range(300):
            publisher.publish(TOPIC, b"%d" % n)
        eventually(lambda: len(seen) >= 300 and store.unacked == [])
        future.cancel()
        future.result(LONG)
    assert sorted(map(int, seen)) == list(range(300))


def test_a_nacked_message_comes_again() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        seen: list[str] = []

        def callback(message: Any) -> None:
            seen.append(message.ack_id)
            message.nack() if len(seen) < 3 else message.ack()

        future = subscriber.subscribe(SUBSCRIPTION, callback)
        publisher.publish(TOPIC, b"again").result(LONG)
        eventually(lambda: store.unacked == [] and len(seen) == 3)
        assert len(set(seen)) == 3
        future.cancel()
        future.result(LONG)


def test_exactly_once_acks_tell_what_came_of_each_id() -> None:
    # "exactly-once failures … per-id reasons as the official client parses them"
    store = MemoryStore({"enable_exactly_once_delivery": True})
    with serving(store) as address, clients(address) as (publisher, subscriber):
        done: list[Any] = []

        def callback(message: Any) -> None:
            done.append(message.ack_with_response())

        future = subscriber.subscribe(SUBSCRIPTION, callback)
        publisher.publish(TOPIC, b"once").result(LONG)
        eventually(lambda: done)
        assert done[0].result(LONG).name == "SUCCESS"
        assert store.unacked == []
        future.cancel()
        future.result(LONG)


def test_exactly_once_tells_which_ids_failed() -> None:
    store = MemoryStore({"enable_exactly_once_delivery": True})
    with serving(store) as address, clients(address) as (publisher, subscriber):
        for data in (b"one", b"two"):
            publisher.publish(TOPIC, data).result(LONG)
        pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=10, timeout=LONG)
        one, two = (each.ack_id for each in pulled.received_messages)
        subscriber.modify_ack_deadline(
            subscription=SUBSCRIPTION, ack_ids=[one], ack_deadline_seconds=0
        )
        with pytest.raises(exceptions.InvalidArgument) as both:
            subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[one, two])
        info = both.value.details[0]
        assert info.reason == "EXACTLY_ONCE_ACKID_FAILURE"
        assert dict(info.metadata) == {
            one: "PERMANENT_FAILURE_INVALID_ACK_ID",
            two: "TRANSIENT_FAILURE_OF_OTHERS",
        }
        # the one that succeeded is tried again by clients, and succeeds again
        subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[two])
        with pytest.raises(exceptions.InvalidArgument):
            subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[one])


def test_errors_carry_the_canonical_code_and_an_error_info() -> None:
    with serving(MemoryStore()) as address, clients(address) as (publisher, subscriber):
        with pytest.raises(exceptions.NotFound) as missing:
            publish(publisher, {"topic": f"{TOPIC}x", "messages": [{"data": b"x"}]})
        assert missing.value.details[0].reason == "NOT_FOUND"
        with pytest.raises(exceptions.NotFound):
            subscriber.pull(subscription=f"{SUBSCRIPTION}x", max_messages=1, timeout=LONG)
        with pytest.raises(exceptions.InvalidArgument, match="max_messages"):
            subscriber.pull(subscription=SUBSCRIPTION, max_messages=0, timeout=LONG)
        bad = {"topic": TOPIC, "messages": [{"data": b"x"}, {"data": b""}]}
        with pytest.raises(exceptions.InvalidArgument, match=r"messages\[1\]"):
            publish(publisher, bad)
        with pytest.raises(exceptions.InvalidArgument, match="1001"):
            publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x"}] * 1001})
        with pytest.raises(exceptions.InvalidArgument, match="not an ack id"):
            subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=["nonsense"])


def test_a_pull_returns_nothing_at_once_if_asked_to() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (_, subscriber):
        pulled = subscriber.pull(
            request={
                "subscription": SUBSCRIPTION,
                "max_messages": 5,
                "return_immediately": True,
            },
            timeout=LONG,
        )
        assert list(pulled.received_messages) == []
    assert store.changes == 0


def test_a_deadline_that_passes_is_a_failed_delivery_and_an_ack_after_it_still_counts() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        publisher.publish(TOPIC, b"slow").result(LONG)
        first = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
        ack_id = first.received_messages[0].ack_id
        subscriber.modify_ack_deadline(
            subscription=SUBSCRIPTION, ack_ids=[ack_id], ack_deadline_seconds=1
        )
        again = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
        assert again.received_messages[0].message.data == b"slow"
        assert again.received_messages[0].ack_id != ack_id


def test_moving_a_deadline_commits_nothing() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        publisher.publish(TOPIC, b"long").result(LONG)
        pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
        before = store.changes
        for _ in range(5):
            subscriber.modify_ack_deadline(
                subscription=SUBSCRIPTION,
                ack_ids=[pulled.received_messages[0].ack_id],
                ack_deadline_seconds=60,
            )
        threading.Event().wait(0.3)
        assert store.changes == before


@pytest.mark.parametrize(
    "error",
    [
        Aborted("too many concurrent writers"),
        Unavailable("no space is left"),
        StorageRefused("its storage refuses it"),
    ],
)
def test_an_exchange_that_is_lost_is_said_again(error: PubSubError) -> None:
    # docs/errors/unavailable.md: "it keeps the acknowledgements that were sent to it"
    store = MemoryStore()
    failures = [error] * 8

    def fail() -> None:
        if failures and store.requests and store.requests[-1][0].acknowledged == {}:
            raise failures.pop()

    with serving(store) as address, clients(address) as (publisher, subscriber):
        publisher.publish(TOPIC, b"x").result(LONG)
        pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
        store.before_exchange = fail
        subscriber.acknowledge(
            subscription=SUBSCRIPTION, ack_ids=[pulled.received_messages[0].ack_id]
        )
        eventually(lambda: store.unacked == [])
    assert not failures


@pytest.mark.parametrize(
    "error", [Unavailable("no space is left"), StorageRefused("its storage refuses it")]
)
def test_a_stream_goes_on_after_a_storage_that_was_full_or_refused(error: PubSubError) -> None:
    # docs/errors/unavailable.md: a server "ends waiting streams and pulls with this error, after
    # which Google's client libraries open them again"
    store = MemoryStore()
    failures = [error] * 8

    def fail() -> None:
        if failures:
            raise failures.pop()

    store.before_exchange = fail
    with serving(store) as address, clients(address) as (publisher, subscriber):
        future = subscriber.subscribe(SUBSCRIPTION, lambda message: message.ack())
        eventually(lambda: not failures)
        publisher.publish(TOPIC, b"x").result(LONG)
        eventually(lambda: store.messages and store.unacked == [])
        assert future.running()
        future.cancel()
        future.result(LONG)


def test_the_end_commits_what_was_acknowledged_and_gives_back_what_nobody_has() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        for n in range(20):
            publisher.publish(TOPIC, b"%d" % n)
        eventually(lambda: len(store.messages) == 20)
        held: list[Any] = []
        flow = pubsub_v1.types.FlowControl(max_messages=5)
        future = subscriber.subscribe(SUBSCRIPTION, held.append, flow_control=flow)
        eventually(lambda: len(held) == 5)
        held[0].ack()
        held[1].ack()
        eventually(lambda: len(held) == 7)
    answered, kept = ([int(each.message_id) for each in part] for part in (held[:2], held[2:]))
    assert not set(answered) & set(store.unacked)
    assert len(store.unacked) == 18
    # "gives back prefetched ones": only what the client has is leased
    assert sorted(store.leased) == sorted(kept)
    future.cancel()


def test_an_ack_that_comes_after_a_seek_is_not_written_before_it() -> None:
    """What is sent after a Seek is not written before it, also where a turn is under way."""
    pulling, sought = threading.Event(), threading.Event()
    store = MemoryStore()

    def hold_up() -> None:
        pulling.set()
        sought.wait(LONG)

    with serving(store) as address, clients(address) as (publisher, subscriber):
        publisher.publish(TOPIC, b"again").result(LONG)
        pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
        store.before_exchange = hold_up
        waiting = subscriber.subscribe(SUBSCRIPTION, lambda _: None)
        assert pulling.wait(LONG)  # a turn is under way
        request = {"subscription": SUBSCRIPTION, "time": store.times[0]}
        call = threading.Thread(target=subscriber.seek, kwargs={"request": request})
        call.start()
        call.join(0.3)
        ids = [each.ack_id for each in pulled.received_messages]
        subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=ids)
        sought.set()
        call.join()
        assert store.unacked == [0]
        waiting.cancel()


def test_streams_end_with_unavailable_when_the_subscription_is_deleted_with_not_found() -> None:
    store = MemoryStore()
    with serving(store) as address, clients(address) as (_, subscriber):
        future = subscriber.subscribe(SUBSCRIPTION, lambda message: message.ack())
        eventually(lambda: store.requests)
        store.gone = True
        with pytest.raises(exceptions.NotFound):
            future.result(LONG)


def test_messages_of_a_key_come_in_order_and_one_stream_at_a_time() -> None:
    store = MemoryStore({"enable_message_ordering": True})
    with serving(store) as address, clients(address) as (publisher, subscriber):
        request = {
            "topic": TOPIC,
            "messages": [{"data": b"%d" % n, "ordering_key": f"key-{n % 3}"} for n in range(60)],
        }
        publish(publisher, request)
        seen: list[tuple[str, int]] = []
        futures = []
        for _ in range(3):

            def callback(message: Any) -> None:
                seen.append((message.ordering_key, int(message.data)))
                message.ack()

            futures.append(subscriber.subscribe(SUBSCRIPTION, callback))
        eventually(lambda: len(seen) >= 60 and store.unacked == [])
        for future in futures:
            future.cancel()
            future.result(LONG)
    for key in range(3):
        of_key = [n for name, n in seen if name == f"key-{key}"]
        assert of_key == sorted(of_key)
    assert len(seen) == 60


def test_the_token_is_asked_for_except_by_health_checks() -> None:
    store = MemoryStore()
    with serving(store, security=Security(token="secret")) as address:
        with clients(address) as (_, subscriber):
            ask = {"subscription": SUBSCRIPTION, "max_messages": 1, "return_immediately": True}
            with pytest.raises(exceptions.Unauthenticated, match="bearer token"):
                subscriber.pull(request=ask, timeout=LONG)
            wrong = [("authorization", "Bearer other")]
            with pytest.raises(exceptions.Unauthenticated):
                subscriber.pull(request=ask, timeout=LONG, metadata=wrong)
            right = [("authorization", "Bearer secret")]
            assert not subscriber.pull(request=ask, timeout=LONG, metadata=right).received_messages
            stream = subscriber.subscribe(SUBSCRIPTION, lambda message: None)
            with pytest.raises(exceptions.Unauthenticated):
                stream.result(LONG)
        with grpc.insecure_channel(address) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            answer = health.Check(health_pb2.HealthCheckRequest(), timeout=LONG)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_reflection_lists_the_services() -> None:
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    with serving(MemoryStore()) as address, grpc.insecure_channel(address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(
                file_containing_symbol="google.pubsub.v1.Subscriber"
            ),
        ]
        listed, described = stub.ServerReflectionInfo(iter(asked), timeout=LONG)
    names = {each.name for each in listed.list_services_response.service}
    assert {"google.pubsub.v1.Publisher", "google.pubsub.v1.Subscriber"} <= names
    assert described.file_descriptor_response.file_descriptor_proto
