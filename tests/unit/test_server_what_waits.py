"""What becomes of acks and messages that wait while a stream, a server or a file ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.errors import DataLoss
from pubsub_delta.resources import RetryPolicy
from pubsub_delta.server.status import AckIdFailure
from tests.unit.serving import LONG
from tests.unit.serving_calls import NAME, Calls, opening, request, running, soon


def undelivered(calls: Calls) -> int:
    return int(calls.store.metrics(NAME)["num_undelivered_messages"])


def test_a_confirmation_that_its_stream_did_not_send_is_told_again() -> None:
    """ "A server tells an ack's success again to who could not be told it"."""

    async def test(calls: Calls) -> None:
        said: asyncio.Queue[Any] = asyncio.Queue()

        async def requests() -> AsyncIterator[Any]:
            yield request(subscription=NAME, stream_ack_deadline_seconds=60)
            while True:
                yield await said.get()

        await calls.publish("a")
        stream = calls.stream(requests())
        ack_id = (await anext(stream)).received_messages[0].ack_id
        found = calls.hub.running(NAME)
        assert found is not None
        said.put_nowait(request(ack_ids=[ack_id]))
        await soon(lambda: undelivered(calls) == 0 and not found.leaser.acks)
        await stream.aclose()  # type: ignore[attr-defined]
        await calls.acknowledge(ack_id)
        with pytest.raises(AckIdFailure):
            await calls.acknowledge(ack_id)

    running(test, enable_exactly_once_delivery=True)


def test_what_waits_for_a_client_that_leaves_unread_goes_back_at_once() -> None:
    """ "What was given to a client that has gone away is given back, and no delivery has failed":
    not at the deadline of its stream, which can be minutes, and without the backoff of a failure.
    """

    async def test(calls: Calls) -> None:
        await calls.publish(*["x" * 1_900_000] * 4)
        stream = calls.stream(opening(stream_ack_deadline_seconds=600))
        assert len((await anext(stream)).received_messages) == 1  # a response has room for one
        found = calls.hub.running(NAME)
        assert found is not None
        await soon(lambda: not found.leaser.waiting)
        await stream.aclose()  # type: ignore[attr-defined]
        assert len(await asyncio.wait_for(calls.pull(3), LONG)) == 3

    running(test, retry_policy=RetryPolicy("600s", "600s"))


def test_a_client_that_leaves_is_given_nothing_of_what_waits() -> None:
    """What it gives back makes room, and it has gone: others get what waits, and at once."""

    async def test(calls: Calls) -> None:
        await calls.publish(*["x" * 1_900_000] * 4)
        limits = {"stream_ack_deadline_seconds": 600, "max_outstanding_messages": 2}
        stream = calls.stream(opening(**limits))
        assert len((await anext(stream)).received_messages) == 1  # a response has room for one
        found = calls.hub.running(NAME)
        assert found is not None
        await soon(lambda: found.leaser.waiting == len(found.leaser.assigner.waiting) == 2)
        await stream.aclose()  # type: ignore[attr-defined]
        assert len(await asyncio.wait_for(calls.pull(3), LONG)) == 3

    running(test)


def test_what_is_acknowledged_while_a_seek_is_under_way_is_written_at_the_end() -> None:
    """ "Then it writes the acknowledgements that it has received"."""

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        (ack_id,) = await calls.pull(1)
        found = calls.hub.running(NAME)
        assert found is not None
        async with found.between_exchanges():
            await calls.acknowledge(ack_id)
            ending = asyncio.ensure_future(calls.hub.stop())
            await asyncio.wait([ending], timeout=0.05)
        await ending
        assert undelivered(calls) == 0

    running(test)


def test_what_cannot_be_read_is_given_back_when_nobody_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "What was given to a client that has gone away is given back", also if it was never read."""

    def damaged(*_: object) -> None:
        raise DataLoss("a file of the topic is damaged")

    monkeypatch.setattr(Lease, "receive", damaged)

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        assert await calls.pull_at_once(1) == []
        assert calls.store.metrics(NAME)["num_outstanding_messages"] == 1
        calls.backend.clock.advance(10)
        await soon(lambda: calls.store.metrics(NAME)["num_outstanding_messages"] == 0)
        found = calls.hub.running(NAME)
        assert found is not None
        await soon(lambda: found.leaser.is_empty)

    running(test)
