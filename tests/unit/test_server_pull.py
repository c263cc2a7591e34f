"""Unary Pull: what it is given is answered with, or given back, at whatever instant it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import NotFound, Unavailable
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.resources import Message, ReceivedMessage
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver
from pubsub_delta.server.dispatcher import Dispatcher
from pubsub_delta.server.subscriber_service import _pulled
from tests.unit.builders import START
from tests.unit.serving import LONG, QUICK, SUBSCRIPTION, TOPIC, MemoryStore
from tests.unit.serving_calls import Calls, running

PATIENCE = 0.03


class Giving:
    """A dispatcher that has something for who joins, or an error, after so many seconds."""

    def __init__(self, after: float, error: Exception | None = None) -> None:
        received = ReceivedMessage("ack id", "0", START, b"a", {}, "", None)
        self.deliveries = [Delivery(1, 0, 1, received=received)]
        self.given_back: list[Delivery] = []
        self.consumers: set[Consumer] = set()
        self._after = after
        self._error = error

    def join(self, receiver: Receiver) -> None:
        self.consumers.add(receiver.consumer)
        loop = asyncio.get_running_loop()
        # Everything that is due by then happens in one turn of the loop, in the order of its time.
        loop.call_later(self._after / 2, time.sleep, 3 * PATIENCE)
        if self._error is None:
            loop.call_later(self._after, receiver.deliver, self.deliveries)
        else:
            loop.call_later(self._after, receiver.fail, self._error)

    def leave(self, consumer: Consumer) -> None:
        self.consumers.discard(consumer)

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        self.given_back += deliveries


def pulled(giving: Giving) -> Sequence[Delivery]:
    return asyncio.run(_waiting(giving))


async def _waiting(giving: Giving) -> Sequence[Delivery]:
    consumer = Consumer(10, 1_000, 10)
    return await _pulled(cast("Dispatcher", giving), consumer, PATIENCE, at_once=False)


@pytest.fixture(autouse=True)
def _wait_as_newer_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12: ``wait_for`` cancels whoever waits, who then does not see what came."""
    within = getattr(asyncio, "timeout", None)
    if within is None:  # Python 3.10
        return

    async def wait_for(future: Any, timeout: float | None) -> Any:
        async with within(timeout):
            return await future

    monkeypatch.setattr(asyncio, "wait_for", wait_for)


@pytest.mark.parametrize("after", [PATIENCE / 2, PATIENCE * 0.9, PATIENCE * 0.999])
def test_messages_that_come_at_the_instant_of_the_time_out_are_answered_with(after: float) -> None:
    """A message that is leased goes to its consumer; lost, it would come after its deadline."""
    giving = Giving(after)
    assert pulled(giving) == giving.deliveries
    assert (giving.given_back, giving.consumers) == ([], set())


def test_an_error_that_comes_at_the_instant_of_the_time_out_is_raised() -> None:
    giving = Giving(PATIENCE * 0.9, NotFound("it was deleted"))
    with pytest.raises(NotFound, match="it was deleted"):
        pulled(giving)
    assert giving.consumers == set()


def test_who_is_given_nothing_in_time_takes_nothing_later() -> None:
    giving = Giving(PATIENCE * 10)
    assert list(pulled(giving)) == []
    assert giving.consumers == set()


@pytest.mark.parametrize("after", [PATIENCE / 2, PATIENCE * 10])
def test_what_a_client_was_given_that_goes_away_is_given_back(after: float) -> None:
    """Nobody has seen it: no delivery has failed, and nobody waits for its deadline."""
    giving = Giving(after)

    async def cancelled() -> None:
        waiting = asyncio.ensure_future(_waiting(giving))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(PATIENCE * 0.9, waiting.cancel)
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancelled())
    assert giving.given_back == (giving.deliveries if after < PATIENCE else [])
    assert giving.consumers == set()


def test_what_is_given_back_is_available_at_once_and_has_not_failed() -> None:
    """As if it had never been leased."""

    async def run() -> MemoryStore:
        store = MemoryStore()
        store.publisher(TOPIC)([Message(b"a")])
        dispatcher = Dispatcher(
            SUBSCRIPTION,
            store.channel(store.subscription_now),
            store.subscription_now,
            store.blocking,
            store.counters,
            QUICK,
            store.now,
        )
        for _ in range(2):
            given = await _pulled(dispatcher, Consumer(1, 1_000, 10), LONG, at_once=False)
            assert [each.received.data for each in given] == [b"a"]
            dispatcher.give_back(given)
        await dispatcher.stop(NotFound("the end"))
        return store

    store = asyncio.run(run())
    assert sum(bool(turn.given_back) for turn, _ in store.requests) == 2
    assert [turn.deadlines for turn, _ in store.requests if timedelta(0) in turn.deadlines] == []
    assert (store.leased, store.unacked) == ([], [0])


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_who_wants_an_answer_at_once_is_told_what_one_look_has_found(
    monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    """Pub/Sub: with return_immediately "the system will respond immediately even if … no messages".

    A look that failed has not found that there is nothing.
    """
    exchange, left = StoreChannel.exchange, [1] * failures

    def busy(channel: StoreChannel, *given: Any) -> Any:
        if left:
            left.pop()
            raise Unavailable("busy")
        return exchange(channel, *given)

    async def test(calls: Calls) -> None:
        for sent in ((), ("a", "b")):
            left.extend([1] * failures)
            if sent:
                await calls.publish(*sent)
            pulled = await asyncio.wait_for(calls.pull_at_once(5), LONG)
            assert len(pulled) == len(sent)

    monkeypatch.setattr(StoreChannel, "exchange", busy)
    running(test)


def test_a_pull_without_messages_is_answered_while_its_client_waits() -> None:
    """Pub/Sub: "the system may wait (for a bounded amount of time)", and answers in the end."""

    async def test(calls: Calls) -> None:
        assert await calls.pull_within(0.5) == []
        await calls.publish("a")
        assert await calls.pull_within(LONG) == ["a"]

    running(test)
