"""When a server looks for messages and fields that other processes have changed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.resources import PushConfig
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.status import AckIdFailure
from pubsub_delta.server.timing import LONGEST_PAUSE, Timing
from tests.unit.serving import LONG
from tests.unit.serving_calls import (
    NAME,
    TOPIC,
    Calls,
    failing_exchanges,
    opening,
    running,
    soon,
)

SLOWER = Timing(gather=0.01, shortest_poll=1, longest_poll=100)


def have_been(calls: Calls, exchanges: int) -> bool:
    return calls.backend.counted.exchanges >= exchanges


def test_polls_that_have_become_seldom_are_frequent_again_where_messages_come() -> None:
    """ "it grows from one to the other while no message comes", and begins anew when one comes."""

    async def test(calls: Calls) -> None:
        backend = calls.backend
        calls.go_by(Hub(backend, backend.counted, SLOWER, backend.now))
        stream = calls.stream(opening())
        coming = asyncio.ensure_future(anext(stream))
        for exchanges in range(1, 21):
            await soon(partial(have_been, calls, exchanges))
            backend.clock.advance(SLOWER.longest_poll)
        await soon(partial(have_been, calls, 21))
        for data, pause in (("a", SLOWER.longest_poll), ("b", SLOWER.shortest_poll)):
            await calls.elsewhere(partial(calls.other_process.publish, TOPIC, [data]))
            backend.clock.advance(pause)
            response = await asyncio.wait_for(coming, LONG)
            assert [each.message.data for each in response.received_messages] == [data.encode()]
            coming = asyncio.ensure_future(anext(stream))
        coming.cancel()
        await calls.hub.stop()

    running(test)


def test_a_clock_that_is_set_back_stops_no_poll() -> None:
    """ "what lasts a while ends as much early or late": a pause between two polls has ended."""

    async def test(calls: Calls) -> None:
        backend = calls.backend
        calls.go_by(Hub(backend, backend.counted, SLOWER, backend.now))
        coming = asyncio.ensure_future(anext(calls.stream(opening())))
        await soon(partial(have_been, calls, 1))
        await calls.elsewhere(partial(calls.other_process.publish, TOPIC, ["a"]))
        backend.clock.advance(-3600)
        response = await asyncio.wait_for(coming, LONG)
        assert [each.message.data for each in response.received_messages] == [b"a"]
        await calls.hub.stop()

    running(test)


def test_a_storage_that_fails_for_hours_is_asked_about_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each failure in a row makes the pause longer, and a second is the longest."""
    pauses, left = list[int](), failing_exchanges(monkeypatch)

    class Noted(Timing):
        def pause(self, failures: int) -> float:
            pauses.append(failures)
            return 0.0

    async def test(calls: Calls) -> None:
        timing = Noted(gather=0.01, shortest_poll=1)
        calls.go_by(Hub(calls.backend, calls.backend.counted, timing, calls.backend.now))
        await calls.publish("a")
        (ack_id,) = await calls.pull(1)
        left.extend([1] * 12)
        await calls.acknowledge(ack_id)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 0)

    running(test)
    assert pauses == list(range(1, 13))
    assert Timing().pause(100_000) == LONGEST_PAUSE == 1


@pytest.mark.parametrize("is_on", [True, False])
def test_exactly_once_delivery_is_in_force_as_soon_as_the_server_sees_it(is_on: bool) -> None:
    """A repeated ack fails with it, and succeeds without it; streams stay open meanwhile."""

    async def test(calls: Calls) -> None:
        await calls.publish("a", "b")
        await calls.pull(1)
        change = partial(
            calls.other_process.update_subscription, NAME, enable_exactly_once_delivery=is_on
        )
        await calls.elsewhere(change)
        await calls.publish("c", "d")
        *_, ack_id = await calls.pull(3)
        await calls.acknowledge(ack_id)
        if is_on:
            with pytest.raises(AckIdFailure):
                await calls.acknowledge(ack_id)
        else:
            await calls.acknowledge(ack_id)

    running(test, enable_exactly_once_delivery=not is_on)


def test_a_pull_goes_by_the_fields_that_another_process_has_changed_since_the_last_one() -> None:
    """ack_deadline_seconds: "the approximate amount of time Pub/Sub waits for the subscriber to
    acknowledge receipt before resending the message"; the first pull after a change is no other."""

    async def test(calls: Calls) -> None:
        await calls.pull_at_once(1)
        await calls.elsewhere(
            lambda: calls.other_process.update_subscription(NAME, ack_deadline_seconds=60)
        )
        await calls.publish("a")
        await calls.pull(1)
        dispatcher = await calls.hub.dispatcher(NAME)
        for _ in range(3):
            calls.backend.clock.advance(5)
            dispatcher.poll()
            await soon(lambda: not dispatcher.leaser.extension_due(calls.backend.now()))
        await calls.publish("b")
        assert len(await calls.pull_at_once(2)) == 1

    running(test, ack_deadline_seconds=10)


def test_who_was_refused_can_pull_once_another_process_has_made_it_a_pull_subscription() -> None:
    """ "clear its push_config to pull from it": who does so need not start the server anew."""

    async def test(calls: Calls) -> None:
        with pytest.raises(FailedPrecondition, match="pushes its messages"):
            await calls.pull(1)
        await calls.elsewhere(
            lambda: calls.other_process.update_subscription(NAME, push_config=None)
        )
        await calls.publish("a")
        assert len(await calls.pull(1)) == 1

    running(test, push_config=PushConfig("http://localhost:9/"))


def test_fields_that_this_server_has_changed_are_not_taken_back_by_an_earlier_read() -> None:
    async def test(calls: Calls) -> None:
        dispatcher = await calls.hub.dispatcher(NAME)
        stored = dispatcher.subscription
        reading = asyncio.ensure_future(calls.hub.pulled(NAME))
        await asyncio.sleep(0)
        dispatcher.update(replace(stored, ack_deadline_seconds=60))
        await reading
        assert dispatcher.subscription.ack_deadline_seconds == 60

    running(test)
