"""The hub of a server: a batcher for each topic, and a dispatcher for each subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import PubSubError, Unavailable
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Message
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.dispatcher import _KEPT_FOR_THE_BUSY
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.lease_journals import Abandoned
from pubsub_delta.server.publishing import Append
from pubsub_delta.tables.lanes.protocol import TableMissing
from tests.unit.builders import at
from tests.unit.serving import QUICK
from tests.unit.serving_calls import NAME, TOPIC, Calls, running, soon

T = TypeVar("T")


class Topics:
    """The part of a backend that publishes; an append waits until the test lets it land."""

    def __init__(self) -> None:
        self.under_way: list[bytes] = []
        self.landed = asyncio.Event()

    def publisher(self, _: str) -> Append:
        return lambda messages: [str(n) for n, _ in enumerate(messages)]

    async def blocking(self, work: Callable[[], T], /) -> T:
        if isinstance(work, partial):
            self.under_way += [bytes(message.data) for message in work.args[0]]
            await self.landed.wait()
        return work()


def test_a_topic_has_one_append_at_a_time_whatever_other_topics_have() -> None:
    """Messages of a client are stored in the order of its requests."""

    async def run() -> list[bytes]:
        topics = Topics()
        hub = Hub(cast(Any, topics), Counters(), QUICK, lambda: at(0))

        def publish(topic: str, data: bytes) -> asyncio.Task[Sequence[str]]:
            return asyncio.create_task(hub.publish(topic, [Message(data)], 1))

        first = publish("a", b"1st of a")
        await soon(lambda: topics.under_way)
        others = [publish("b", b"1st of b"), publish("a", b"2nd of a")]
        await soon(lambda: len(topics.under_way) > 1)
        await asyncio.sleep(0.1)
        told = list(topics.under_way)
        topics.landed.set()
        await asyncio.gather(first, *others)
        return told

    assert asyncio.run(run()) == [b"1st of a", b"1st of b"]


def test_what_waits_for_room_is_kept_however_long_nothing_has_waited() -> None:
    """Given back at once it would be leased again and again, by a commit each."""

    async def test(calls: Calls) -> None:
        given: list[bytes] = []

        def take(deliveries: Sequence[Delivery]) -> None:
            given.extend(each.received.data for each in deliveries)

        dispatcher = await calls.hub.dispatcher(NAME)
        consumer = Consumer(max_bytes=10, ack_deadline_seconds=600)
        dispatcher.join(Receiver(consumer, take, lambda _: None))
        await calls.publish("a" * 6)
        await soon(lambda: given)
        for _ in range(int(_KEPT_FOR_THE_BUSY) // 5 + 1):
            calls.backend.clock.advance(5)
            dispatcher.poll()
            await soon(lambda: not dispatcher.leaser.extension_due(calls.backend.now()))
        await calls.publish("b" * 6)
        await soon(lambda: dispatcher.leaser.waiting == 1)
        leases = list(dispatcher.leaser.outstanding.leases)
        for _ in range(20):
            dispatcher.poll()
            await asyncio.sleep(0.02)
        assert list(dispatcher.leaser.outstanding.leases) == leases
        assert len(given) == 1

    running(test)


class Left:
    """What servers that are gone have left."""

    def __init__(self, *left: Abandoned) -> None:
        self.left = left

    @contextmanager
    def abandoned(self) -> Iterator[Sequence[Abandoned]]:
        yield self.left
        self.left = ()


@pytest.mark.parametrize("error", [TableMissing("ack_state/a"), Unavailable("the disk is away")])
def test_a_subscription_that_cannot_be_taken_over_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, error: PubSubError
) -> None:
    """ "Another server … makes available at once what the killed one had leased and given to
    nobody". What is damaged is tried once, and not each second for ever."""

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        (ack_id,) = await calls.pull(1)
        parsed = parse_ack_id(ack_id)
        assert parsed is not None
        lost = calls.store.create_subscription("lost", TOPIC)
        waiting = {parsed.lease_id: Positions.of([parsed.position])}
        uid = calls.store.get_subscription(NAME).uid
        left = Left(Abandoned(lost.name, lost.uid, waiting), Abandoned(NAME, uid, waiting))
        exchange = StoreChannel.exchange

        def failing(channel: StoreChannel, *given: Any) -> Any:
            if channel.uid == lost.uid:
                raise error
            return exchange(channel, *given)

        monkeypatch.setattr(StoreChannel, "exchange", failing)
        backend = calls.backend
        after = Hub(backend, backend.counted, QUICK, backend.now, cast(Any, left))
        if isinstance(error, Unavailable):
            with pytest.raises(Unavailable):
                await after.take_over()
            assert left.left, "it is tried again"
        else:
            await after.take_over()
            assert not left.left
        assert len(await asyncio.to_thread(lambda: list(calls.other_process.pull(NAME)))) == 1

    running(test)


def test_consumers_that_have_an_error_are_given_nothing_more() -> None:
    """ "End every consumer with an error": each is told once, and takes no message with it."""

    async def test(calls: Calls) -> None:
        dispatcher = await calls.hub.dispatcher(NAME)
        failed: list[Exception] = []
        consumers = [Consumer(max_messages=5) for _ in range(2)]
        for each in consumers:
            dispatcher.join(Receiver(each, lambda _: None, failed.append))
        assert all(each.is_open for each in consumers)
        error = Unavailable("it ends")
        dispatcher.end(error)
        assert failed == [error, error]
        assert not any(each.is_open for each in consumers)
        dispatcher.end(error)
        assert len(failed) == 2
        await calls.publish("a")
        assert await calls.pull_within(2) != []

    running(test)
