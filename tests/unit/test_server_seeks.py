"""What a server remembers of a subscription ends with a seek, a detach and a deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import InvalidArgument, NotFound, PubSubError
from pubsub_delta.policy.ack_ids import AckId, parse_ack_id
from pubsub_delta.server import dispatcher
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS
from pubsub_delta.server.dispatcher import Dispatcher
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.status import AckIdFailure
from pubsub_delta.server.timing import Timing
from tests.unit.serving_calls import NAME, TOPIC, Calls, leases, opening, running, soon

Act = Callable[[Calls], Awaitable[None]]
FOREIGN = str(AckId("f" * 32, 1, 0))
"""An ack id of another subscription."""


async def seek_here(calls: Calls) -> None:
    await calls.seek(time=calls.backend.now() - timedelta(hours=1))


async def seek_elsewhere(calls: Calls) -> None:
    since = calls.backend.now() - timedelta(hours=1)
    await calls.elsewhere(lambda: calls.other_process.seek(NAME, time=since))


async def seek_to_a_snapshot_elsewhere(calls: Calls) -> None:
    await calls.elsewhere(lambda: calls.other_process.seek(NAME, snapshot="before"))


async def delete_elsewhere(calls: Calls) -> None:
    await calls.elsewhere(lambda: calls.other_process.delete_subscription(NAME))


async def detach_elsewhere(calls: Calls) -> None:
    await calls.elsewhere(lambda: calls.other_process.detach_subscription(NAME))


async def replace_elsewhere(calls: Calls) -> None:
    await delete_elsewhere(calls)
    await calls.elsewhere(lambda: calls.other_process.create_subscription(NAME, TOPIC))


SEEKS = pytest.mark.parametrize("seek", [seek_here, seek_elsewhere, seek_to_a_snapshot_elsewhere])
ENDS = pytest.mark.parametrize(
    "end", [Calls.delete, delete_elsewhere, Calls.detach, detach_elsewhere]
)


async def leased_ahead(calls: Calls) -> Dispatcher:
    """Have the server lease four messages, of which a stream has had one before it ended."""
    await calls.publish("a0", "a1", "a2", "a3")
    stream = calls.stream(opening(max_outstanding_messages=1))
    await anext(stream)
    found = calls.hub.running(NAME)
    assert found is not None
    await soon(lambda: found.leaser.waiting == 3)
    await stream.aclose()  # type: ignore[attr-defined]
    return found


async def acknowledged(calls: Calls) -> str:
    """Publish a message, take a snapshot, pull and acknowledge; return the ack id."""
    await calls.publish("again")
    calls.store.create_snapshot("before", NAME)
    (ack_id,) = await calls.pull(1)
    await acknowledge_untold(calls, ack_id)
    return ack_id


async def acknowledge_untold(calls: Calls, ack_id: str) -> None:
    """Have an ack succeed that its client was not told of, and said again beside one that fails."""
    said = (await calls.hub.dispatcher(NAME)).acknowledge([ack_id])
    await soon(lambda: said.done)
    await untold(calls.acknowledge, ack_id)


async def untold(say: Callable[..., Awaitable[None]], ack_id: str) -> None:
    """Have an id succeed beside one that fails, and say both again, as clients do."""
    for _ in range(2):
        with pytest.raises(AckIdFailure) as told:
            await say(ack_id, FOREIGN)
        assert told.value.named == {ack_id: OF_OTHERS, FOREIGN: INVALID_ACK_ID}


@SEEKS
def test_an_ack_that_succeeded_before_a_seek_fails_after_it(seek: Act) -> None:
    # "Acks of deliveries made before a seek fail."
    async def test(calls: Calls) -> None:
        ack_id = await acknowledged(calls)
        await seek(calls)
        with pytest.raises(AckIdFailure) as told:
            await calls.acknowledge(ack_id)
        assert told.value.named == {ack_id: INVALID_ACK_ID}
        assert calls.store.metrics(NAME)["num_undelivered_messages"] == 1
        (again,) = await calls.pull(1)
        await calls.acknowledge(again)

    running(test, enable_exactly_once_delivery=True, retain_acked_messages=True)


@ENDS
def test_an_ack_that_succeeded_fails_when_the_subscription_has_ended(end: Act) -> None:
    async def test(calls: Calls) -> None:
        ack_id = await acknowledged(calls)
        await end(calls)
        for _ in range(2):
            with pytest.raises(PubSubError):
                await calls.acknowledge(ack_id)

    running(test, enable_exactly_once_delivery=True)


def test_an_ack_that_waits_when_the_subscription_ends_has_failed_for_good() -> None:
    """A client says again for ever what has failed for a while."""

    async def test(calls: Calls) -> None:
        await calls.publish("late")
        (ack_id,) = await calls.pull(1)
        found = calls.hub.running(NAME)
        assert found is not None
        async with found.between_exchanges():
            waiting = found.acknowledge([ack_id])
            found.close(NotFound("the subscription was deleted"))
        assert (waiting.done, waiting.failures) == (True, {ack_id: INVALID_ACK_ID})

    running(test, enable_exactly_once_delivery=True)


def test_what_an_earlier_subscription_of_the_name_acknowledged_is_not_remembered() -> None:
    async def test(calls: Calls) -> None:
        ack_id = await acknowledged(calls)
        await delete_elsewhere(calls)
        again = calls.other_process.create_subscription
        await calls.elsewhere(partial(again, NAME, TOPIC, enable_exactly_once_delivery=True))
        for _ in range(2):  # the first finds out that there is another one
            with pytest.raises(AckIdFailure):
                await calls.acknowledge(ack_id)

    running(test, enable_exactly_once_delivery=True)


def test_an_ack_that_a_restore_has_undone_fails() -> None:
    # "An ack state that was restored to an earlier version goes on from there"
    async def test(calls: Calls) -> None:
        await calls.publish("again")
        (ack_id,) = await calls.pull(1)
        tables, uid = calls.store._tables, calls.store.get_subscription(NAME).uid
        before = tables.ack_state_tables.read(uid)
        await acknowledge_untold(calls, ack_id)
        after = tables.ack_state_tables.read(uid)
        assert tables.ack_state_tables.replace(uid, before, after)
        with pytest.raises(AckIdFailure):
            await calls.acknowledge(ack_id)

    running(test, enable_exactly_once_delivery=True)


@SEEKS
def test_a_nack_that_succeeded_is_told_again_until_a_seek(seek: Act) -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("again")
        calls.store.create_snapshot("before", NAME)
        (ack_id,) = await calls.pull(1)
        await untold(calls.nack, ack_id)
        await seek(calls)
        await calls.pull(1)
        with pytest.raises(AckIdFailure):
            await calls.nack(ack_id)

    running(test, enable_exactly_once_delivery=True)


def test_what_was_leased_before_a_seek_is_given_to_nobody_after_it() -> None:
    """A seek acknowledges what is before its time, also what waits for a client of the server."""

    async def test(calls: Calls) -> None:
        await leased_ahead(calls)
        await calls.seek(time=calls.backend.now() + timedelta(hours=1))
        assert await calls.pull_at_once(5) == []
        assert calls.store.metrics(NAME)["num_undelivered_messages"] == 0

    running(test)


def test_after_a_seek_that_was_refused_acks_are_written() -> None:
    """They wait while a seek is carried out, whatever becomes of it."""

    async def test(calls: Calls) -> None:
        await calls.publish("late")
        (ack_id,) = await calls.pull(1)
        with pytest.raises(NotFound):
            await calls.seek(snapshot="projects/local/snapshots/unknown")
        await calls.acknowledge(ack_id)
        assert calls.store.metrics(NAME)["num_undelivered_messages"] == 0

    running(test, enable_exactly_once_delivery=True)


def test_an_ack_that_comes_during_a_snapshot_is_answered_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waits for the snapshot, and for nothing that happens later."""
    monkeypatch.setattr(dispatcher, "_TICK", 60)

    async def test(calls: Calls) -> None:
        await calls.publish("late")
        (ack_id,) = await calls.pull(1)
        found = calls.hub.running(NAME)
        assert found is not None
        with calls.backend._lock:  # which the thread of the snapshot waits for
            making = asyncio.ensure_future(calls.create_snapshot("projects/local/snapshots/before"))
            await soon(lambda: found._exchanging.locked())
            saying = asyncio.ensure_future(calls.acknowledge(ack_id))
            await soon(lambda: len(found.leaser.acks) == 1 and not found._woken.is_set())
            await asyncio.sleep(0.05)
        await making
        await saying

    running(test, enable_exactly_once_delivery=True)


def test_a_snapshot_holds_nothing_that_the_server_has_acknowledged() -> None:
    """A response to an ack does not wait for its commit; a snapshot does."""

    async def test(calls: Calls) -> None:
        calls.go_by(
            Hub(calls.backend, calls.backend.counted, Timing(gather=1.0), calls.backend.now)
        )
        await calls.publish("a", "b")
        (first, _) = await calls.pull(2)
        await calls.acknowledge(first)
        await calls.create_snapshot("projects/local/snapshots/before")
        assert calls.store.metrics("before")["num_messages"] == 1

    running(test)


def test_a_repeated_ack_fails_once_its_success_was_told() -> None:
    # "A repeated ack of an already successful id is reported invalid"
    async def test(calls: Calls) -> None:
        await calls.publish("once", "twice")
        one, other = await calls.pull(2)
        await calls.acknowledge(one)
        await calls.nack(other)
        for say, ack_id in ((calls.acknowledge, one), (calls.nack, other)):
            with pytest.raises(AckIdFailure) as told:
                await say(ack_id)
            assert told.value.named == {ack_id: INVALID_ACK_ID}

    running(test, enable_exactly_once_delivery=True)


def test_a_repeated_ack_succeeds_without_exactly_once_delivery() -> None:
    # "idempotent without exactly-once"
    async def test(calls: Calls) -> None:
        await calls.publish("once")
        (ack_id,) = await calls.pull(1)
        for _ in range(3):
            await calls.acknowledge(ack_id)

    running(test)


def test_ids_of_another_subscription_are_refused_and_the_others_taken() -> None:
    # "Malformed, or of another subscription → invalid"; "the good ids of the same call succeed"
    async def test(calls: Calls) -> None:
        await calls.publish("mine")
        (mine,) = await calls.pull(1)
        for say in (calls.acknowledge, calls.nack):
            with pytest.raises(InvalidArgument, match="is of another subscription"):
                await say(mine, FOREIGN)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 0)

    running(test)


def test_a_stream_that_acknowledges_ids_of_another_subscription_ends() -> None:
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening(ack_ids=[FOREIGN]))
        with pytest.raises(InvalidArgument, match="is of another subscription"):
            await anext(stream)

    running(test)


@pytest.mark.parametrize("exactly_once", [False, True])
def test_what_consumers_have_is_void_after_a_seek_of_another_process(exactly_once: bool) -> None:
    # "Every seek: voids all leases made before it": nothing counts against flow control any more
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening(max_outstanding_messages=5))
        await calls.publish("a", "b", "c")
        first = (await anext(stream)).received_messages
        assert len(first) == 3
        await seek_elsewhere(calls)
        calls.backend.clock.advance(5)  # to the next look, long before a lease is extended
        await soon(lambda: calls.backend.counted.delivered == 6)
        second = [each.ack_id for each in (await anext(stream)).received_messages]
        assert len(second) == 3
        assert min(leases(second)) > max(leases([each.ack_id for each in first]))
        await stream.aclose()  # type: ignore[attr-defined]

    running(test, enable_exactly_once_delivery=exactly_once)


def test_a_new_pull_is_given_nothing_that_was_leased_of_an_earlier_subscription() -> None:
    """ "A consumer has the subscription that it began with": prefetched messages are of another.

    Another process deletes the subscription, so this one hears of it with its next request only.
    """

    async def test(calls: Calls) -> None:
        earlier = await leased_ahead(calls)
        await replace_elsewhere(calls)
        await calls.publish("b")
        (ack_id,) = await calls.pull(1)
        given = parse_ack_id(ack_id)
        assert given is not None
        assert given.subscription_uid == calls.store.get_subscription(NAME).uid
        assert earlier.is_over

    running(test)


@pytest.mark.parametrize("opens", ["a pull", "a stream"])
def test_who_comes_after_a_subscription_was_created_anew_has_that_one(opens: str) -> None:
    """ "A consumer has the subscription that it began with": this one began with the later one.

    The server holds nothing for anybody, and has not heard of the deletion.
    """

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        await calls.acknowledge(*await calls.pull(1))
        earlier = calls.hub.running(NAME)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 0)
        await replace_elsewhere(calls)
        await calls.elsewhere(lambda: calls.other_process.publish(TOPIC, [b"b"]))
        if opens == "a pull":
            assert len(await calls.pull(1)) == 1
        else:
            stream = calls.stream(opening())
            assert [m.message.data for m in (await anext(stream)).received_messages] == [b"b"]
            await stream.aclose()  # type: ignore[attr-defined]
        assert earlier is not None
        assert earlier.is_over

    running(test)


@pytest.mark.parametrize("exactly_once", [False, True])
def test_an_ack_of_a_later_subscription_of_the_name_is_taken(exactly_once: bool) -> None:
    # "Each id has one outcome": another server has given this id out
    async def test(calls: Calls) -> None:
        await calls.publish("a")
        await calls.acknowledge(*await calls.pull(1))
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 0)
        await delete_elsewhere(calls)
        other = calls.other_process
        await calls.elsewhere(
            lambda: other.create_subscription(
                NAME, TOPIC, enable_exactly_once_delivery=exactly_once
            )
        )
        await calls.elsewhere(lambda: other.publish(TOPIC, [b"b", b"c"]))
        first, second = [each.ack_id for each in await calls.elsewhere(lambda: other.pull(NAME))]
        await calls.acknowledge(first)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 1)
        await calls.nack(second)
        await soon(lambda: calls.store.metrics(NAME)["num_outstanding_messages"] == 0)

    running(test, enable_exactly_once_delivery=exactly_once)


def test_a_new_pull_is_not_given_what_was_leased_of_a_deleted_subscription() -> None:
    async def test(calls: Calls) -> None:
        await leased_ahead(calls)
        await delete_elsewhere(calls)
        with pytest.raises(NotFound):
            await calls.pull(1)

    running(test)
