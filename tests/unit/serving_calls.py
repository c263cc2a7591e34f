"""A server's methods, called in this process and without gRPC, on a whole store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from pubsub_delta.errors import Unavailable
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, STREAMING_PULL, SUBSCRIBER
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.publisher_service import PublisherService
from pubsub_delta.server.pushing import Pushers
from pubsub_delta.server.streams import Stream
from pubsub_delta.server.subscriber_service import SubscriberService
from pubsub_delta.server.table_writing import TableWriters
from tests.unit.serving import LONG, QUICK
from tests.unit.serving_world import WorldBackend

T = TypeVar("T")

TOPIC = "projects/local/topics/flights"
NAME = "projects/local/subscriptions/delays"


class Context:
    """What a call knows of its client: how long it waits still, or that it waits for ever."""

    def __init__(self, remaining: float | None = None) -> None:
        self._remaining = remaining

    def time_remaining(self) -> float | None:
        return self._remaining


class Calls:
    """A server on a store with a topic and a subscription; another process uses the store, too."""

    def __init__(self, **fields: Any) -> None:
        self.backend = WorldBackend()
        self.store = self.backend.store
        self.store.create_topic(TOPIC)
        self.store.create_subscription(NAME, TOPIC, **fields)
        self.other_process = self.backend.open("local")
        self.go_by(Hub(self.backend, self.backend.counted, QUICK, self.backend.now))

    def go_by(self, hub: Hub) -> None:
        """Call the methods of a server from now on."""
        self.hub = hub
        self.writers = TableWriters(hub, QUICK)
        pushers = Pushers(hub, self.backend.now)
        self._services = {
            PUBLISHER: PublisherService(hub),
            SUBSCRIBER: SubscriberService(hub, pushers, self.writers),
        }

    async def publish(self, *data: str) -> None:
        messages = [{"data": each.encode()} for each in data]
        await self._call(PUBLISHER, "Publish", topic=TOPIC, messages=messages)

    async def pull(self, count: int) -> list[str]:
        """Return the ack ids of as many messages."""
        found: list[str] = []
        while len(found) < count:
            found += await self.pull_at_once(count - len(found))
        return found

    async def pull_at_once(self, most: int) -> list[str]:
        """Return the ack ids of at most so many messages that are there."""
        asked = {"max_messages": most, "return_immediately": True}
        pulled = await self._call(SUBSCRIBER, "Pull", subscription=NAME, **asked)
        return [each.ack_id for each in pulled.received_messages]

    async def pull_within(self, seconds: float) -> list[str]:
        """Return the data of a message, or nothing; the client waits so long, and no longer."""
        asked = {"subscription": NAME, "max_messages": 1}
        pulled = await self._answer(SUBSCRIBER, "Pull", asked, seconds)
        return [each.message.data.decode() for each in pulled.received_messages]

    async def acknowledge(self, *ack_ids: str) -> None:
        await self._call(SUBSCRIBER, "Acknowledge", subscription=NAME, ack_ids=ack_ids)

    async def nack(self, *ack_ids: str) -> None:
        said = {"ack_ids": ack_ids, "ack_deadline_seconds": 0}
        await self._call(SUBSCRIBER, "ModifyAckDeadline", subscription=NAME, **said)

    async def seek(self, **to: Any) -> None:
        await self._call(SUBSCRIBER, "Seek", subscription=NAME, **to)

    async def set_table(self, table: str) -> None:
        changed = {"name": NAME, "topic": TOPIC, "bigquery_config": {"table": table}}
        mask = {"paths": ["bigquery_config"]}
        asked = {"subscription": changed, "update_mask": mask}
        await self._call(SUBSCRIBER, "UpdateSubscription", **asked)

    async def create(self, name: str) -> None:
        await self._call(SUBSCRIBER, "CreateSubscription", name=name, topic=TOPIC)

    async def create_snapshot(self, name: str) -> None:
        await self._call(SUBSCRIBER, "CreateSnapshot", name=name, subscription=NAME)

    async def detach(self) -> None:
        await self._call(PUBLISHER, "DetachSubscription", subscription=NAME)

    async def delete(self) -> None:
        await self._call(SUBSCRIBER, "DeleteSubscription", subscription=NAME)

    async def elsewhere(self, act: Callable[[], T]) -> T:
        """Let another process do something."""
        return await self.backend.blocking(act)

    def stream(self, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Return the responses of a StreamingPull; nothing is done before the first is asked for.

        The server is as far as a client has read: there are no buffers in between.
        """
        return Stream(self.hub).run(requests)

    async def _call(self, service: str, name: str, /, **fields: Any) -> Any:
        return await self._answer(service, name, fields)

    async def _answer(
        self, service: str, name: str, fields: dict[str, Any], waits: float | None = None
    ) -> Any:
        request = SERVICES[service][name].request(**fields)
        call = method_of(self._services[service], name)(request, Context(waits))
        return await asyncio.wait_for(call, waits or LONG)


def method_of(service: object, name: str) -> Callable[[Any, Context], Any]:
    """Return the method of a service that answers a call."""
    words = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
    return getattr(service, words[1:])  # type: ignore[no-any-return]


def request(**fields: Any) -> Any:
    """Return a request of a StreamingPull."""
    return SERVICES[SUBSCRIBER][STREAMING_PULL].request(**fields)


async def opening(**fields: Any) -> AsyncIterator[Any]:
    """Say the first request of a stream, and nothing more."""
    yield request(subscription=NAME, **{"stream_ack_deadline_seconds": 60, **fields})
    await asyncio.Event().wait()


def running(test: Callable[[Calls], Coroutine[Any, Any, T]], **fields: Any) -> T:
    """Run a test on a server of its own, which ends with it."""

    async def run() -> T:
        calls = Calls(**fields)
        try:
            return await test(calls)
        finally:
            await calls.hub.stop()

    return asyncio.run(run())


async def soon(told: Callable[[], object]) -> None:
    """Wait until something is true."""
    for _ in range(LONG * 100):
        if told():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")


def leases(ack_ids: list[str]) -> set[int]:
    """Return the leases of ack ids."""
    parsed = [parse_ack_id(each) for each in ack_ids]
    return {each.lease_id for each in parsed if each is not None}


def failing_exchanges(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Let as many exchanges fail as the list that is returned is long."""
    exchange, left = StoreChannel.exchange, list[object]()

    def busy(channel: StoreChannel, *given: Any) -> Any:
        if left:
            left.pop()
            raise Unavailable("busy")
        return exchange(channel, *given)

    monkeypatch.setattr(StoreChannel, "exchange", busy)
    return left
