"""Acks of one call with exactly-once delivery, whose answer tells no success beside a failure."""

from __future__ import annotations

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import Unavailable
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS
from pubsub_delta.server.ack_futures import AckFuture
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.status import AckIdFailure
from pubsub_delta.server.subscriber_service import answered
from tests.unit.serving import QUICK
from tests.unit.serving_calls import NAME, Calls, opening, running, soon
from tests.unit.test_server_response_queue import following


def unacked(calls: Calls) -> int:
    return int(calls.store.metrics(NAME)["num_undelivered_messages"])


async def refused(calls: Calls, *ids: str) -> dict[str, str]:
    """Return which ids of a call fail, and why."""
    with pytest.raises(AckIdFailure) as failed:
        await calls.acknowledge(*ids)
    return dict(failed.value.named)


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("wrong", ["acknowledged", "malformed", "of another subscription"])
def test_what_a_client_is_to_repeat_succeeds_at_any_server(wrong: str, elsewhere: bool) -> None:
    # "Acks … count at any of them … So a balancer may send each call of a client elsewhere"
    async def test(calls: Calls) -> None:
        await calls.publish("a", "b", "c")
        stale, *good = await calls.pull(3)
        if wrong == "acknowledged":
            await calls.acknowledge(stale)
        elif wrong == "malformed":
            stale = "no ack id"
        else:
            stale = "0" * 32 + stale[32:]
        before = unacked(calls)
        named = await refused(calls, stale, *good)
        assert named == {stale: INVALID_ACK_ID, **dict.fromkeys(good, OF_OTHERS)}
        assert unacked(calls) == before
        if elsewhere:
            calls.go_by(Hub(calls.backend, calls.backend.counted, QUICK, calls.backend.now))
        await calls.acknowledge(*good)
        assert unacked(calls) == before - 2

    running(test, enable_exactly_once_delivery=True)


def test_calls_that_are_written_together_fail_apart() -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("a", "b", "c")
        stale, good, other = await calls.pull(3)
        await calls.acknowledge(stale)
        of = await calls.hub.dispatcher(NAME)
        mixed, alone = of.acknowledge([stale, good], together=True), of.acknowledge([other])
        await soon(lambda: mixed.done and alone.done)
        assert mixed.failures == {stale: INVALID_ACK_ID, good: OF_OTHERS}
        assert (alone.failures, unacked(calls)) == ({}, 1)

    running(test, enable_exactly_once_delivery=True)


def test_of_more_acks_than_an_answer_can_name_the_good_ones_are_written() -> None:
    # "The one for Java goes by the names alone, and takes what is not named for a success"
    async def test(calls: Calls) -> None:
        await calls.publish(*map(str, range(100)))
        stale, *good = await calls.pull(100)
        await calls.acknowledge(stale)
        await refused(calls, stale, *good)
        assert unacked(calls) == 0

    running(test, enable_exactly_once_delivery=True)


def test_what_was_not_written_is_repeated_though_exactly_once_was_turned_off_since() -> None:
    async def test(calls: Calls) -> None:
        future = AckFuture()
        future.fail("one", OF_OTHERS)
        with pytest.raises(Unavailable):
            await answered(await calls.hub.dispatcher(NAME), future, ["one"])

    running(test)


def test_what_has_succeeded_and_was_not_told_fails_no_other_ack() -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("a", "b")
        untold, good = await calls.pull(2)
        first = (await calls.hub.dispatcher(NAME)).acknowledge([untold])
        await soon(lambda: first.done)
        await calls.acknowledge(untold, good)
        assert unacked(calls) == 0

    running(test, enable_exactly_once_delivery=True)


def test_a_stream_is_told_the_outcome_of_each_ack() -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("a", "b")
        stale, good = await calls.pull(2)
        await calls.acknowledge(stale)
        stream = calls.stream(opening(ack_ids=[stale, good]))
        told = (await following(stream)).acknowledge_confirmation
        assert (list(told.ack_ids), list(told.invalid_ack_ids)) == ([good], [stale])
        assert unacked(calls) == 0
        await stream.aclose()  # type: ignore[attr-defined]

    running(test, enable_exactly_once_delivery=True)


def test_without_exactly_once_delivery_each_ack_counts() -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("a", "b")
        stale, good = await calls.pull(2)
        await calls.acknowledge(stale)
        await calls.acknowledge(stale, good)
        await soon(lambda: unacked(calls) == 0)

    running(test)
