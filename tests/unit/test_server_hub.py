"""The hub of a server: a batcher for each topic, and a dispatcher for each subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import pytest

pytest.importorskip("grpc")
from pubsub_delta.resources import Message
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.dispatcher import _KEPT_FOR_THE_BUSY
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.publishing import Append
from tests.unit.builders import at
from tests.unit.serving import QUICK
from tests.unit.serving_calls import NAME, Calls, running, soon

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
