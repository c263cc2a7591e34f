"""A server at the rims of its rules: several at once, what follows a failure, what is kept."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import Unavailable
from pubsub_delta.resources import Message, ReceivedMessage
from pubsub_delta.server import dispatcher
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.memory import Memory
from pubsub_delta.server.response_queue import MOST_UNCONFIRMED, ResponseQueue
from pubsub_delta.server.timing import Timing
from tests.unit.builders import START
from tests.unit.serving import LONG
from tests.unit.serving_calls import (
    NAME,
    TOPIC,
    Calls,
    failing_exchanges,
    opening,
    request,
    running,
    soon,
)

SELDOM = Timing(gather=0.01, shortest_poll=3600, longest_poll=3600)


class Given:
    """A consumer, and what it is told."""

    def __init__(self) -> None:
        self.consumer = Consumer()
        self.messages: list[bytes] = []
        self.looks = 0
        self.errors: list[Exception] = []
        self.receiver = Receiver(self.consumer, self._take, self.errors.append)

    def _take(self, deliveries: Sequence[Delivery]) -> None:
        self.messages += [each.received.data for each in deliveries]
        self.looks += not deliveries


def with_seldom_polls(test: Callable[[Calls], Any], timing: Timing = SELDOM) -> None:
    async def run(calls: Calls) -> None:
        calls.go_by(Hub(calls.backend, calls.backend.counted, timing, calls.backend.now))
        try:
            await test(calls)
        finally:
            await calls.hub.stop()

    running(run)


def test_a_publish_is_told_to_every_subscription_of_its_topic() -> None:
    """A message that is published through a server is delivered to each subscription at once."""

    async def test(calls: Calls) -> None:
        names = [NAME, f"{NAME}-too", f"{NAME}-as-well"]
        given = [Given() for _ in names]
        for name, each in zip(names, given, strict=True):
            if name != NAME:
                calls.store.create_subscription(name, TOPIC)
            (await calls.hub.dispatcher(name)).join(each.receiver)
        await soon(lambda: all(each.looks for each in given))
        await calls.publish("a")
        await soon(lambda: [each.messages for each in given] == [[b"a"]] * 3)

    with_seldom_polls(test)


def test_all_who_wait_for_one_look_are_told_that_it_found_nothing() -> None:
    """Pub/Sub: return_immediately "will respond immediately even if it there are no messages"."""

    async def test(calls: Calls) -> None:
        given = [Given() for _ in range(3)]
        found = await calls.hub.dispatcher(NAME)
        for each in given:
            found.join(each.receiver)
        await soon(lambda: all(each.looks for each in given))

    with_seldom_polls(test)


def test_after_an_error_was_told_the_next_consumers_have_as_much_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Consumers get an error after some failures in a row, and not for each one after these."""
    left = failing_exchanges(monkeypatch)

    async def test(calls: Calls) -> None:
        first, later = Given(), Given()
        left.extend([1] * 5)
        found = await calls.hub.dispatcher(NAME)
        found.join(first.receiver)
        await soon(lambda: first.errors)
        left.extend([1] * 3)
        found.join(later.receiver)
        await soon(lambda: later.looks or later.errors)
        assert later.errors == []

    running(test)


def test_a_publish_during_an_exchange_is_looked_for_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was published after the exchange had read the topic would else wait for a poll."""

    async def test(calls: Calls) -> None:
        given, found = Given(), await calls.hub.dispatcher(NAME)
        exchange, loop, told = (
            found._channel.exchange,
            asyncio.get_running_loop(),
            threading.Event(),
        )

        def tell() -> None:
            calls.hub.published(TOPIC)
            told.set()

        def slow(*args: Any) -> Any:
            done = exchange(*args)
            if not told.is_set():
                calls.store.publish(TOPIC, ["a"])
                loop.call_soon_threadsafe(tell)
                assert told.wait(LONG)
            return done

        monkeypatch.setattr(found, "_channel", SimpleNamespace(exchange=slow))
        found.join(given.receiver)
        await soon(lambda: given.messages == [b"a"])

    with_seldom_polls(test)


def test_a_publish_whose_exchange_failed_is_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failed exchange is tried again soon, and not at the next poll, which may be far."""
    left = failing_exchanges(monkeypatch)

    async def test(calls: Calls) -> None:
        given = Given()
        (await calls.hub.dispatcher(NAME)).join(given.receiver)
        await soon(lambda: given.looks)
        left.append(1)
        await calls.publish("a")
        await soon(lambda: given.messages == [b"a"])

    with_seldom_polls(test)


def test_what_does_not_fit_into_one_read_comes_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of leased messages only those that a read returned were read; the others are not gone."""
    monkeypatch.setattr(dispatcher, "READ_BYTES", 100)
    texts = [f"{n}" * 60 for n in range(4)]

    async def test(calls: Calls) -> None:
        await calls.publish(*texts)
        given = Given()
        (await calls.hub.dispatcher(NAME)).join(given.receiver)
        await soon(lambda: given.messages == [each.encode() for each in texts])

    running(test)


def test_an_ack_that_was_not_written_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pub/Sub: temporary_failed_ack_ids are "acknowledgement IDs that failed processing with
    temporary issues"; ack_ids are those that were "successfully processed".
    """
    left = failing_exchanges(monkeypatch)

    async def test(calls: Calls) -> None:
        says = asyncio.Queue[Any]()

        async def requests() -> Any:
            async for each in opening():
                yield each
                break
            while True:
                yield await says.get()

        await calls.publish("a")
        stream = calls.stream(requests())
        (sent,) = (await asyncio.wait_for(anext(stream), LONG)).received_messages
        left.extend([1] * 5)
        says.put_nowait(request(ack_ids=[sent.ack_id]))
        told = (await asyncio.wait_for(anext(stream), LONG)).acknowledge_confirmation
        assert list(told.temporary_failed_ack_ids) == [sent.ack_id]
        assert (list(told.ack_ids), list(told.invalid_ack_ids)) == ([], [])
        await stream.aclose()  # type: ignore[attr-defined]

    running(test, enable_exactly_once_delivery=True)


def test_a_stream_forgets_the_messages_that_it_has_sent() -> None:
    """What counts as outstanding ends with its ack, and not with the end of a long stream."""

    async def test() -> None:
        consumer, memory = Consumer(), Memory()
        queue = ResponseQueue(consumer)
        received = ReceivedMessage("a", "1", START, b"a", {}, "", None)
        delivery = Delivery(1, 1, 1, received=received, memory=memory)
        delivery.consumer, consumer.messages, consumer.bytes = consumer, 1, 1
        queue.put([delivery])
        responses = queue.responses()
        await anext(responses)
        coming = asyncio.ensure_future(anext(responses))
        await asyncio.sleep(0)
        assert (memory.messages, memory.bytes) == (1, 0)
        del delivery
        gc.collect()
        assert memory.messages == 0
        coming.cancel()

    asyncio.run(test())


def test_a_pulled_message_takes_no_memory_once_it_was_sent() -> None:
    """Data are in memory until they are sent; the message is outstanding until its ack."""

    async def test(calls: Calls) -> None:
        await calls.publish("a", "b")
        ack_ids = await calls.pull(2)
        memory = calls.backend.counted.memory
        assert (memory.messages, memory.bytes) == (2, 0)
        await calls.acknowledge(*ack_ids)

    running(test)


def test_a_client_that_reads_its_confirmations_is_heard_again() -> None:
    """Above a number of unread confirmations no further request is read, until they are read."""

    async def test() -> None:
        queue = ResponseQueue(Consumer())
        queue.expect(MOST_UNCONFIRMED + 1)
        queue.confirm("acknowledge_confirmation", {"ack_ids": ["a"] * (MOST_UNCONFIRMED + 1)})
        hearing = asyncio.ensure_future(queue.room())
        await asyncio.sleep(0)
        assert not hearing.done()
        await anext(queue.responses())
        await asyncio.wait_for(hearing, LONG)

    asyncio.run(test())


def test_the_messages_of_all_subscriptions_are_bounded_together() -> None:
    """The limit of outstanding messages is that of a server, over all of its subscriptions."""
    whole = Memory(most_messages=5)
    one, other = whole.part(), whole.part()
    one.add(3, 10)
    other.add(1, 10)
    assert not one.is_full
    other.add(1, 10)
    assert (one.is_full, other.is_full) == (True, True)


@pytest.mark.parametrize("early", [False, True], ids=["after", "just before"])
def test_the_end_of_a_server_begins_no_lease(early: bool) -> None:
    """A request that comes late, or while its subscription is read, is told to ask another server:
    nobody would end its lease.
    """

    async def test(calls: Calls) -> None:
        asking = asyncio.ensure_future(calls.hub.dispatcher(NAME))
        for _ in range(early):
            await asyncio.sleep(0)
        await calls.hub.stop()
        with pytest.raises(Unavailable, match="is shutting down"):
            await asking

    running(test)


def test_messages_of_a_key_wait_while_a_client_that_left_has_earlier_ones() -> None:
    """A key belongs to a consumer "even one that has left, until all of them are acked"."""

    async def test(calls: Calls) -> None:
        calls.store.publish(TOPIC, [Message(data, ordering_key="k") for data in (b"1", b"2", b"3")])
        first, later, found = Given(), Given(), await calls.hub.dispatcher(NAME)
        first.consumer.max_messages = first.consumer.ahead = 2
        found.join(first.receiver)
        await soon(lambda: first.messages == [b"1", b"2"] and found.leaser.assigner.waiting)
        one, two = list(found.leaser._sent._by_ack_id)
        found.leave(first.consumer)
        found.join(later.receiver)
        found.acknowledge([one])
        assert (first.messages, later.messages) == ([b"1", b"2"], [])
        found.acknowledge([two])
        await soon(lambda: later.messages == [b"3"])

    running(test, enable_message_ordering=True)


@pytest.mark.parametrize("says_so", [False, True])
def test_a_client_that_breaks_off_is_given_no_more(says_so: bool) -> None:
    """Its connection may be lost, or it reads no more: messages would wait for it until their
    deadlines."""

    async def test(calls: Calls) -> None:
        ended = asyncio.Event()

        async def requests() -> AsyncIterator[Any]:
            yield request(subscription=NAME, stream_ack_deadline_seconds=60)
            await ended.wait()

        await calls.publish("a")
        responses: Any = calls.stream(requests())
        assert (await anext(responses)).received_messages
        dispatcher_of_it = calls.hub.running(NAME)
        assert dispatcher_of_it is not None
        if says_so:
            ended.set()
            await asyncio.sleep(0.01)
        else:
            await responses.aclose()
        assert not dispatcher_of_it._receivers
        await responses.aclose()

    running(test)


def test_ids_of_a_later_subscription_are_accepted_beside_those_of_the_one_before() -> None:
    """Another process has deleted the subscription, and created one of its name."""

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        (old,) = await calls.pull(1)

        def succeed() -> str:
            calls.other_process.delete_subscription(NAME)
            calls.other_process.create_subscription(NAME, TOPIC)
            calls.other_process.publish(TOPIC, ["b"])
            return next(iter(calls.other_process.pull(NAME, 1))).ack_id

        new = await calls.elsewhere(succeed)
        found = await calls.hub.acknowledging(NAME, [old, new])
        assert new.startswith(found.leaser.uid)

    running(test)


def test_a_client_that_takes_much_is_leased_more_at_a_time() -> None:
    """A commit is slow; messages that a client will ask for next are leased along with others."""
    pulls = 20

    async def test(calls: Calls) -> int:
        await calls.publish(*map(str, range(20 * pulls)))
        uid = calls.store.get_subscription(NAME).uid
        before = calls.store._tables.ack_state_tables.read(uid).revision
        for _ in range(pulls):
            await calls.pull(10)
        return calls.store._tables.ack_state_tables.read(uid).revision - before

    assert running(test) < pulls


def test_acks_that_come_one_after_the_other_are_written_together() -> None:
    """``--group-commit``: the time in which acknowledgements are gathered into one commit."""

    async def test(calls: Calls) -> None:
        await calls.publish(*map(str, range(30)))
        ack_ids, counted = await calls.pull(30), calls.backend.counted
        before = counted.exchanges
        for each in ack_ids:
            await calls.acknowledge(each)
            await asyncio.sleep(0.005)
        await soon(lambda: not calls.store.metrics(NAME)["num_undelivered_messages"])
        assert counted.exchanges - before < 10

    with_seldom_polls(test, replace(SELDOM, gather=0.5))
