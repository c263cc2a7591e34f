"""What waits in the server for the client of a stream, who may never read it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import NotFound
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server import response_queue
from pubsub_delta.server.assigner import Consumer, Delivery
from pubsub_delta.server.response_queue import ResponseQueue
from tests.unit.builders import START
from tests.unit.serving import LONG
from tests.unit.serving_calls import NAME, Calls, leases, opening, request, running, soon


def texts(response: Any) -> list[str]:
    return [each.message.data.decode() for each in response.received_messages]


def ack_ids(response: Any) -> list[str]:
    return [each.ack_id for each in response.received_messages]


async def following(stream: AsyncIterator[Any]) -> Any:
    return await asyncio.wait_for(anext(stream), LONG)


def kept() -> int:
    """Return how many deliveries are in memory."""
    gc.collect()
    return sum(isinstance(each, Delivery) for each in gc.get_objects())


async def redelivered(calls: Calls, times: int) -> None:
    """Let the deadlines of two messages pass so often, and others come in their place."""
    for n in range(times):
        calls.backend.clock.advance(61)
        await soon(partial(lambda count: calls.backend.counted.delivered >= count, 2 * (n + 2)))


def test_a_stream_that_is_not_read_keeps_no_more_than_its_flow_control_allows() -> None:
    # "the server will stop sending more messages" at max_outstanding_messages
    async def test(calls: Calls) -> None:
        before = kept()
        stream = calls.stream(opening(max_outstanding_messages=2))
        await calls.publish("a", "b", "c")
        assert len(texts(await following(stream))) == 2
        await redelivered(calls, 10)
        assert kept() - before <= 2 + 3  # handed out, and leased
        assert len(texts(await following(stream))) <= 2
        await stream.aclose()  # type: ignore[attr-defined]

    running(test)


def test_bytes_that_wait_are_bounded_too() -> None:
    async def test(calls: Calls) -> None:
        before = kept()
        stream = calls.stream(opening(max_outstanding_bytes=250))
        await calls.publish(*(f"{n}" * 100 for n in range(9)))
        assert len(texts(await following(stream))) == 2
        await redelivered(calls, 5)
        assert kept() - before <= 2 + 9
        await stream.aclose()  # type: ignore[attr-defined]

    running(test)


def test_what_has_expired_is_not_sent() -> None:
    # "Deadline passed = failed delivery": its ack id is of no use any more
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening(max_outstanding_messages=3))
        await calls.publish("a")
        old = ack_ids(await following(stream))
        await calls.acknowledge(*old)
        await calls.publish("b", "c")
        await soon(lambda: calls.backend.counted.delivered == 3)
        calls.backend.clock.advance(61)
        await soon(lambda: calls.backend.counted.delivered == 5)
        found = ack_ids(await following(stream))
        await calls.publish("d")
        found += ack_ids(await following(stream))
        assert len(found) == 3  # b and c once each
        await calls.acknowledge(*found)
        await stream.aclose()  # type: ignore[attr-defined]

    running(test)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_a_seek_has_voided_is_not_sent(elsewhere: bool) -> None:
    # "Every seek: voids all leases made before it"
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening(max_outstanding_messages=10))
        await calls.publish("a")
        await following(stream)
        await calls.publish("b", "c")
        await soon(lambda: calls.backend.counted.delivered == 3)
        since = calls.backend.now() - timedelta(hours=1)
        if elsewhere:
            await calls.elsewhere(lambda: calls.other_process.seek(NAME, time=since))
            calls.backend.clock.advance(5)  # to the next look
        else:
            await calls.seek(time=since)
        await soon(lambda: calls.backend.counted.delivered == 6)
        response = await following(stream)
        assert sorted(texts(response)) == ["a", "b", "c"]
        assert len(leases(ack_ids(response))) == 1
        await stream.aclose()  # type: ignore[attr-defined]

    running(test)


def test_what_was_answered_for_is_not_sent() -> None:
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening(max_outstanding_messages=10))
        await calls.publish("a")
        first = ack_ids(await following(stream))[0]
        await calls.publish("b", "c")
        await soon(lambda: calls.backend.counted.delivered == 3)
        leaser = (await calls.hub.dispatcher(NAME)).leaser
        waiting = [each for each in leaser._sent._by_ack_id if each != first]
        await calls.acknowledge(waiting[0])
        assert ack_ids(await following(stream)) == waiting[1:]
        await stream.aclose()  # type: ignore[attr-defined]

    running(test)


def test_who_does_not_read_confirmations_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    # what is confirmed waits in memory, so requests wait with the client instead
    monkeypatch.setattr(response_queue, "MOST_UNCONFIRMED", 10)
    heard = 0

    async def talking() -> AsyncIterator[Any]:
        nonlocal heard
        yield request(subscription=NAME, stream_ack_deadline_seconds=60)
        while True:
            heard += 1
            yield request(ack_ids=[f"{heard}.{n}" for n in range(5)])

    async def test(calls: Calls) -> None:
        stream = calls.stream(talking())
        invalid: list[str] = []
        for _ in range(3):
            response = await following(stream)
            invalid += response.acknowledge_confirmation.invalid_ack_ids
            await asyncio.sleep(0.05)
        assert 3 <= heard <= 8
        assert invalid == [f"{each}.{n}" for each in (1, 2, 3) for n in range(5)]
        await stream.aclose()  # type: ignore[attr-defined]

    running(test, enable_exactly_once_delivery=True)


def test_confirmations_of_a_large_request_come_in_responses_that_clients_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # "The Python library takes no response above 4 MiB from an emulator."
    monkeypatch.setattr(response_queue, "MOST_BYTES", 100)
    asked = [f"{n:030}" for n in range(10)]

    async def talking() -> AsyncIterator[Any]:
        yield request(subscription=NAME, stream_ack_deadline_seconds=60, ack_ids=asked)
        await asyncio.Event().wait()

    async def test(calls: Calls) -> None:
        stream = calls.stream(talking())
        told: list[str] = []
        while len(told) < len(asked):
            part = (await following(stream)).acknowledge_confirmation.invalid_ack_ids
            assert len(part) <= 3
            told += part
        assert told == asked
        await stream.aclose()  # type: ignore[attr-defined]

    running(test, enable_exactly_once_delivery=True)


def test_messages_that_wait_come_before_the_end() -> None:
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening(max_outstanding_messages=10))
        await calls.publish("a")
        await following(stream)
        await calls.publish("b")
        await soon(lambda: calls.backend.counted.delivered == 2)
        (await calls.hub.dispatcher(NAME)).end(NotFound("gone"))
        assert texts(await following(stream)) == ["b"]
        with pytest.raises(NotFound):
            await following(stream)

    running(test)


def test_a_stream_whose_client_says_no_more_ends_and_is_given_no_more() -> None:
    async def closing() -> AsyncIterator[Any]:
        yield request(subscription=NAME, stream_ack_deadline_seconds=60)

    async def test(calls: Calls) -> None:
        stream = calls.stream(closing())
        assert [each async for each in stream] == []
        await calls.publish("a")
        assert len(await calls.pull(1)) == 1

    running(test)


def test_the_first_end_of_a_stream_is_its_end() -> None:
    """A client that says no more meanwhile is told why all the same."""

    async def test() -> None:
        queue = ResponseQueue(Consumer())
        queue.end(NotFound("the subscription was deleted"))
        queue.end()
        with pytest.raises(NotFound, match="the subscription was deleted"):
            await anext(queue.responses())

    asyncio.run(test())


def test_a_confirmation_does_not_wait_for_a_message() -> None:
    """Pub/Sub: "This field will only be set if `enable_exactly_once_delivery` is set to `true`"."""

    async def test() -> None:
        queue = ResponseQueue(Consumer())
        coming = asyncio.ensure_future(anext(queue.responses()))
        await asyncio.sleep(0)  # it waits for something to send
        queue.expect(1)
        queue.confirm("acknowledge_confirmation", {"ack_ids": ["a"], "invalid_ack_ids": []})
        sent = await asyncio.wait_for(coming, LONG)
        assert sent == {"acknowledge_confirmation": {"ack_ids": ["a"]}}

    asyncio.run(test())


def test_a_later_request_of_a_stream_changes_its_ack_deadline() -> None:
    """Pub/Sub: "The ack deadline to use for the stream. This must be provided in the first request
    on the stream, but it can also be updated on subsequent requests"."""

    async def test(calls: Calls) -> None:
        later = asyncio.Event()

        async def requests() -> AsyncIterator[Any]:
            yield request(subscription=NAME, stream_ack_deadline_seconds=60)
            await later.wait()
            yield request(stream_ack_deadline_seconds=20)
            await asyncio.Event().wait()

        stream = calls.stream(requests())
        await calls.publish("a")
        await following(stream)
        dispatcher = calls.hub.running(NAME)
        assert dispatcher is not None
        (consumer,) = dispatcher._receivers
        assert consumer.ack_deadline_seconds == 60
        later.set()
        await soon(lambda: consumer.ack_deadline_seconds == 20)
        await stream.aclose()  # type: ignore[attr-defined]

    running(test)


def test_a_stream_that_is_kept_alive_gets_an_empty_response_at_once_and_one_alone() -> None:
    """A proxy between ends what is silent for long."""

    async def test() -> None:
        queue = ResponseQueue(Consumer())
        responses = queue.responses()
        for _ in range(2):
            coming = asyncio.ensure_future(anext(responses))
            await asyncio.sleep(0)
            queue.keep_alive()
            queue.keep_alive()
            assert await asyncio.wait_for(coming, LONG) == {}
        coming = asyncio.ensure_future(anext(responses))
        await asyncio.sleep(0)
        assert not coming.done()
        queue.keep_alive()
        queue.expect(1)
        queue.confirm("acknowledge_confirmation", {"ack_ids": ["a"]})
        sent = await asyncio.wait_for(coming, LONG)
        assert sent == {"acknowledge_confirmation": {"ack_ids": ["a"]}}, "which keeps it alive, too"
        queue.end()
        assert [each async for each in responses] == []

    asyncio.run(test())


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([40, 40, 40, 40, 40], [2, 2, 1]),
        ([50, 50, 1], [2, 1]),
        ([500, 1, 1], [1, 2]),
        ([1, 500, 1], [1, 1, 1]),
        ([1, 1, 1], [3]),
    ],
)
def test_no_response_has_more_bytes_of_messages_than_clients_take(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], expected: list[int]
) -> None:
    """gRPC's clients refuse a response that is too large; one large message still comes alone."""
    monkeypatch.setattr(response_queue, "MOST_BYTES", 100)

    async def test() -> None:
        consumer = Consumer()
        queue = ResponseQueue(consumer)
        deliveries = []
        for position, size in enumerate(sizes):
            received = ReceivedMessage(f"{position}", f"{position}", START, b"", {}, "", None)
            deliveries.append(Delivery(1, position, size, received=received))
            deliveries[-1].consumer = consumer
            consumer.messages += 1
            consumer.bytes += size
        queue.put(deliveries)
        queue.end()
        found = [each["received_messages"] async for each in queue.responses()]
        assert list(map(len, found)) == expected

    asyncio.run(test())


def test_what_its_consumer_has_lost_does_not_wait_to_be_sent() -> None:
    """A stream with too much that waits is given nothing more."""

    async def test() -> None:
        consumer = Consumer(max_unsent=100)
        queue = ResponseQueue(consumer)
        received = ReceivedMessage("a", "1", START, b"", {}, "", None)
        kept, lost = deliveries = [Delivery(1, n, 60, received=received) for n in range(2)]
        for each in deliveries:
            each.consumer = consumer
            consumer.messages += 1
            consumer.bytes += each.size
        queue.put(deliveries)
        assert consumer.unsent == 120
        lost.consumer, consumer.messages, consumer.bytes = None, 1, kept.size
        more = Delivery(1, 2, 10, received=received, consumer=consumer)
        consumer.messages, consumer.bytes = 2, kept.size + more.size
        queue.put([more])
        assert consumer.unsent == 70
        queue.end()
        assert [len(each["received_messages"]) async for each in queue.responses()] == [2]
        assert consumer.unsent == 0

    asyncio.run(test())
