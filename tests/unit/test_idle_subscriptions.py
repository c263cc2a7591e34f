"""A server keeps nothing of a subscription that nobody uses any more: others may delete it."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("grpc")
from pubsub_delta.server import dispatcher as dispatchers
from tests.unit.serving_calls import NAME, Calls, opening, running, soon
from tests.unit.test_server_response_queue import ack_ids, following


def test_nothing_is_kept_of_subscriptions_that_another_process_has_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatchers, "_KEPT_IDLE", 0.05)

    async def test(calls: Calls) -> None:
        for n in range(5):
            name = f"{NAME}-{n}"
            await calls.create(name)
            await calls.hub.pulled(name)
            calls.other_process.delete_subscription(name)
        await soon(lambda: all(each.is_over for each in calls.hub._dispatchers.values()))
        await calls.hub.pulled(NAME)
        assert list(calls.hub._dispatchers) == [NAME]

    running(test)


def test_a_subscription_that_was_left_for_a_while_is_served_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatchers, "_KEPT_IDLE", 0.05)

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        (ack_id,) = await calls.pull(1)
        await asyncio.sleep(0.2)
        assert calls.hub.running(NAME) is not None, "a client has a message"
        await calls.acknowledge(ack_id)
        await soon(lambda: calls.hub.running(NAME) is None)
        await calls.publish("b")
        (ack_id,) = await calls.pull(1)
        await calls.acknowledge(ack_id)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 0)

    running(test)


def test_an_idle_stream_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatchers, "_KEPT_IDLE", 0.05)

    async def test(calls: Calls) -> None:
        stream = calls.stream(opening())
        coming = asyncio.ensure_future(following(stream))
        await asyncio.sleep(0.3)
        await calls.publish("a")
        assert len(ack_ids(await coming)) == 1
        await stream.aclose()  # type: ignore[attr-defined]

    running(test)


def test_an_ack_whose_success_was_not_told_is_known_for_as_long_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # "That holds until a seek, a detach, a deletion or a restore"
    monkeypatch.setattr(dispatchers, "_KEPT_IDLE", 0.05)

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        (ack_id,) = await calls.pull(1)
        of = await calls.hub.dispatcher(NAME)
        first = of.acknowledge([ack_id])
        await soon(lambda: first.done)
        await asyncio.sleep(0.3)
        again = (await calls.hub.dispatcher(NAME)).acknowledge([ack_id])
        await soon(lambda: again.done)
        assert again.failures == {}

    running(test, enable_exactly_once_delivery=True)


def test_a_publish_wakes_nobody_for_a_subscription_without_consumers() -> None:
    async def test(calls: Calls) -> None:
        idle = await calls.hub.dispatcher(NAME)
        await soon(lambda: idle.leaser.is_empty and not idle._woken.is_set())
        idle.poll()
        assert not idle._woken.is_set()
        await calls.publish("a")
        assert len(await calls.pull(1)) == 1

    running(test)
