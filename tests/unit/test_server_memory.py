"""What a server holds of messages, streams and requests is bounded, and who is over it is told."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc

from pubsub_delta.errors import Aborted, ResourceExhausted
from pubsub_delta.policy.ack_requests import AckResponse
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server import interceptors, leaser, memory
from pubsub_delta.server.assigner import Assigner, Consumer, Delivery
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.exporting import ServerExporter
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, STREAMING_PULL, SUBSCRIBER
from pubsub_delta.server.lease_journals import Journal
from pubsub_delta.server.memory import Memory
from pubsub_delta.server.response_queue import ResponseQueue
from tests.unit.builders import PLAIN, at
from tests.unit.serving import LONG, SUBSCRIPTION, MemoryStore, eventually, serving
from tests.unit.serving_calls import NAME, TOPIC, Calls, opening, running, soon


def delivery(of: Memory, position: int, size: int = 1_000) -> Delivery:
    received = ReceivedMessage(
        f"id {position}", f"{position}", at(0), b"x" * size, {"k": "v"}, "", None
    )
    return Delivery(1, position, size, received=received, memory=of)


def test_a_message_takes_memory_until_it_was_sent_and_its_place_until_it_is_answered_for() -> None:
    whole = Memory()
    part = whole.part()
    held = delivery(part, 1)
    assert (whole.messages, whole.bytes, part.bytes) == (1, 1_000, 1_000)
    held.was_sent()
    held.was_sent()
    assert (whole.messages, whole.bytes) == (1, 0)
    assert (held.received.data, held.received.ack_id) == (b"", "id 1")
    del held
    assert (whole.messages, part.messages) == (0, 0)
    assert (whole.bytes, part.bytes) == (0, 0), "what was sent has left before"


def test_no_more_is_read_where_memory_is_full_but_one_message_for_who_has_none() -> None:
    whole = Memory(most_bytes=10_000)
    one, other = whole.part(), whole.part()
    held = [delivery(one, n) for n in range(9)]
    assert (one.room, other.room) == (1_000, 1_000)
    held.append(delivery(one, 9))
    assert (one.room, other.room) == (0, 1)
    held.append(delivery(one, 10))
    assert (one.room, other.room) == (0, 1), "also where there is more than that"
    held.clear()
    assert one.room == 10_000


def test_no_more_is_leased_where_too_many_are_not_answered_for() -> None:
    # "a client that never acknowledges"
    whole = Memory(most_messages=3)
    one, other = whole.part(), whole.part()
    held = [delivery(one, n) for n in range(3)]
    held[0].was_sent()
    assert one.is_full
    assert not other.is_full, "one subscription does not stop another one"
    held.pop()
    assert not one.is_full


def test_what_waits_for_a_stream_is_bounded_though_it_asks_for_everything() -> None:
    # "one that never reads"
    of, consumer = Memory(), Consumer(max_unsent=3_000)
    queue, assigner = ResponseQueue(consumer), Assigner()
    assigner.waiting.extend(delivery(of, n) for n in range(10))

    async def test() -> None:
        queue.put(assigner.assign([consumer]).get(consumer, []))
        assert (consumer.unsent, len(assigner.waiting)) == (3_000, 7)
        responses = queue.responses()
        first = await anext(responses)
        assert len(first["received_messages"]) == 3
        assert not assigner.assign([consumer]), "it is not written yet"
        queue.end()
        with pytest.raises(StopAsyncIteration):
            await anext(responses)
        assert consumer.unsent == 0
        assert len(assigner.assign([consumer])[consumer]) == 3

    asyncio.run(test())


@pytest.mark.parametrize("size", [2_000, 9_000])
def test_a_message_larger_than_may_wait_comes_alone(size: int) -> None:
    of, consumer = Memory(), Consumer(max_unsent=3_000)
    assigner = Assigner()
    assigner.waiting.extend(delivery(of, n, size) for n in range(2))
    assert len(assigner.assign([consumer])[consumer]) == 1


def test_a_stream_that_reads_is_given_everything_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pubsub_delta.server.streams.MOST_UNSENT", 3)

    async def test(calls_: Calls) -> None:
        stream = calls_.stream(opening())
        await calls_.publish(*(f"{n}" for n in range(40)))
        got: list[Any] = []
        while len(got) < 40:
            got += (await asyncio.wait_for(anext(stream), LONG)).received_messages
        assert calls_.hub._memory.bytes <= 3
        await calls_.acknowledge(*(each.ack_id for each in got))
        await stream.aclose()  # type: ignore[attr-defined]
        await soon(lambda: calls_.hub._memory.messages == 0)

    running(test)


def test_publish_requests_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    # "waiting requests, each with a limit and a clear refusal"
    monkeypatch.setattr(memory, "MOST_TO_PUBLISH", 10)

    async def test(calls_: Calls) -> None:
        held = asyncio.Event()
        batcher = calls_.backend.blocking

        async def blocking(work: Any) -> Any:
            await held.wait()
            return await batcher(work)

        calls_.hub.backend.blocking = blocking  # type: ignore[method-assign]
        waiting = asyncio.create_task(calls_.publish("ten bytes."))
        await soon(lambda: calls_.hub._memory.publishing == 10)
        with pytest.raises(ResourceExhausted, match="10 bytes of other requests wait"):
            await calls_.publish("x")
        held.set()
        await waiting
        await calls_.publish("a single larger one waits alone")

    running(test)


def test_a_publish_request_that_failed_waits_no_longer() -> None:
    held = Memory()
    with pytest.raises(Aborted), held.to_publish(7):
        raise Aborted("it lost all its races")
    assert held.publishing == 0


def test_acks_that_cannot_be_written_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaser, "MOST_PENDING", 10)
    leases = leaser.Leaser(PLAIN.uid, ordered=False, exactly_once=False)
    for n in range(11):
        leases.check_room()
        leases.acks.acknowledge((1, n))
    with pytest.raises(ResourceExhausted, match="wait to be written"):
        leases.check_room()
    request = leases.request(at(0))  # which may fail, as often as it is tried
    with pytest.raises(ResourceExhausted, match="wait to be written"):
        leases.check_room()
    leases.apply(request, AckResponse(), at(0))
    leases.check_room()


def test_a_stream_too_many_is_refused_until_another_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # "streams … each with a limit and a clear refusal"
    monkeypatch.setattr(interceptors, "MAX_STREAMS", 2)
    store = MemoryStore()
    with serving(store) as address, grpc.insecure_channel(address) as channel:
        of = SERVICES[SUBSCRIBER][STREAMING_PULL]
        pull = channel.stream_stream(
            f"/{SUBSCRIBER}/{STREAMING_PULL}",
            request_serializer=of.request.SerializeToString,
            response_deserializer=of.response.FromString,
        )
        first = of.request(subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10)

        def held() -> Any:
            yield first
            done.wait()

        done = threading.Event()
        streams = [pull(held()) for _ in range(2)]
        eventually(lambda: store.counters.open_streams == 2)
        with pytest.raises(grpc.RpcError, match="2 streams are open") as refused:
            list(pull(iter([first])))
        error: Any = refused.value
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        streams[0].cancel()
        eventually(lambda: store.counters.open_streams == 1)
        assert list(pull(iter([first]))) == []
        done.set()


def test_consumers_that_come_at_once_share_one_dispatcher() -> None:
    """Each acknowledges what it was given by any of them."""

    async def test(calls_: Calls) -> None:
        first, second = await asyncio.gather(*(calls_.hub.dispatcher(NAME) for _ in range(2)))
        assert first is second is calls_.hub.running(NAME)

    running(test)


def test_dispatchers_of_subscriptions_that_are_gone_are_forgotten() -> None:
    async def test(calls_: Calls) -> None:
        for n in range(5):
            name = f"{NAME}-{n}"
            calls_.store.create_subscription(name, TOPIC)
            asked = {"max_messages": 1, "return_immediately": True}
            await calls_._call(SUBSCRIBER, "Pull", subscription=name, **asked)
            await calls_._call(SUBSCRIBER, "DeleteSubscription", subscription=name)
        await calls_.pull(0)
        assert len(calls_.hub._dispatchers) <= 2

    running(test)


def test_what_publishes_to_topics_that_nobody_publishes_to_any_more_is_forgotten() -> None:
    async def test(calls_: Calls) -> None:
        for n in range(5):
            topic = f"{TOPIC}-{n}"
            await calls_._call(PUBLISHER, "CreateTopic", name=topic)
            await calls_._call(PUBLISHER, "Publish", topic=topic, messages=[{"data": b"x"}])
            await calls_._call(PUBLISHER, "DeleteTopic", topic=topic)
        await asyncio.gather(*(each.drain() for each in calls_.hub._batchers.values()))
        await calls_._call(PUBLISHER, "Publish", topic=TOPIC, messages=[{"data": b"x"}])
        assert list(calls_.hub._batchers) == [TOPIC]

    running(test)


def test_what_is_held_is_told() -> None:
    counters = Counters()
    held = [delivery(counters.memory.part(), n) for n in range(3)]
    held[0].was_sent()
    exporter = ServerExporter(counters, list, lambda: at(0), "60s")
    found = {each.name: each.samples[0].value for each in exporter.collect() if each.samples}
    assert found["pubsub_delta_server_held_messages"] == 3
    assert found["pubsub_delta_server_held_bytes"] == 2_000


@pytest.mark.parametrize(("named", "used"), [(None, "system"), ("jemalloc", "jemalloc")])
def test_a_server_uses_the_allocator_of_the_system_unless_another_one_is_named(
    named: str | None, used: str
) -> None:
    environment = {} if named is None else {memory.ALLOCATOR: named}
    memory.choose_allocator(environment)
    assert environment == {memory.ALLOCATOR: used}


@pytest.mark.parametrize("folder", [None, "absent"])
def test_a_journal_that_is_not_written_keeps_nothing(tmp_path: Path, folder: str | None) -> None:
    """On object storage none is written, and a busy subscription has leases for days."""
    journal = Journal(None if folder is None else tmp_path / folder / "a", NAME)
    journal.leased(0, Positions.of([0]))
    given = delivery(Memory(), 1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for lease_id in range(1, 1_000):
            journal.leased(lease_id, Positions.of([1]))
            given.lease_id = lease_id
            journal.given([given])
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 50_000
