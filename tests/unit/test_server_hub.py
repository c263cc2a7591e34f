"""The hub of a server: one batcher for each topic that is published to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import pytest

pytest.importorskip("grpc")
from pubsub_delta.resources import Message
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.publishing import Append
from tests.unit.builders import at
from tests.unit.serving import QUICK
from tests.unit.serving_calls import soon

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
