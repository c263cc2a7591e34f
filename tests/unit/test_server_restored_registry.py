"""What a server remembers of a subscription that a RESTORE of the registry has taken away."""

from __future__ import annotations

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import NotFound
from pubsub_delta.server.ack_failures import INVALID_ACK_ID
from pubsub_delta.server.status import AckIdFailure
from tests.unit.serving_calls import NAME, TOPIC, Calls, opening, running, soon
from tests.unit.test_server_seeks import acknowledged


def registry_version(calls: Calls) -> int:
    tables = calls.other_process._tables
    return tables.lanes.control.version(tables.layout.subscriptions)


async def restore(calls: Calls, version: int) -> None:
    table = calls.other_process._tables.layout.subscriptions
    await calls.elsewhere(lambda: calls.backend._world.lane.restore(table, version))


async def create_again(calls: Calls) -> None:
    other = calls.other_process
    await calls.elsewhere(lambda: other.delete_subscription(NAME))
    await calls.elsewhere(
        lambda: other.create_subscription(NAME, TOPIC, enable_exactly_once_delivery=True)
    )


def test_a_stream_ends_whose_subscription_a_restore_has_replaced() -> None:
    """ "A consumer has the subscription that it began with": the earlier one is back."""

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        before = registry_version(calls)
        await create_again(calls)
        stream = calls.stream(opening())
        await calls.publish("b")
        assert [m.message.data for m in (await anext(stream)).received_messages] == [b"b"]
        await restore(calls, before)
        calls.backend.clock.advance(5)
        with pytest.raises(NotFound, match="was deleted"):
            await anext(stream)
        assert len(await calls.pull(2)) == 2  # a, and b, of the earlier one

    running(test, enable_exactly_once_delivery=True)


def test_an_ack_that_succeeded_fails_after_a_restore_has_replaced_its_subscription() -> None:
    """The server was to tell its success again. The one that is back has the message still."""

    async def test(calls: Calls) -> None:
        before = registry_version(calls)
        await create_again(calls)
        ack_id = await acknowledged(calls)
        await restore(calls, before)
        for _ in range(2):
            with pytest.raises(AckIdFailure) as told:
                await calls.acknowledge(ack_id)
            assert told.value.named == {ack_id: INVALID_ACK_ID}
        (again,) = await calls.pull(1)
        await calls.acknowledge(again)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 0)

    running(test, enable_exactly_once_delivery=True)
