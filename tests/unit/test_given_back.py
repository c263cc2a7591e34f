"""What is given back that another process has let return before, with ordering."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("grpc")
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Message
from pubsub_delta.server.hub import Hub
from tests.unit.in_memory import NAME as IN_MEMORY_NAME
from tests.unit.in_memory import TOPIC as IN_MEMORY
from tests.unit.in_memory import InMemory
from tests.unit.serving import QUICK
from tests.unit.serving_calls import NAME, TOPIC, Calls, opening, running, soon
from tests.unit.test_server_lease_journals import here, killed, leased, pytestmark

__all__ = ["pytestmark"]


def publish(calls: Calls, *keys: str) -> None:
    messages = [Message(f"{n}".encode(), ordering_key=key) for n, key in enumerate(keys)]
    calls.store.publish(TOPIC, messages)


def test_a_server_goes_on_that_gives_back_what_a_nack_elsewhere_has_let_return() -> None:
    # "Acks, nacks and new deadlines count at any of them"
    async def test(calls: Calls) -> None:
        publish(calls, "a", "b", "a")
        stream = calls.stream(opening(max_outstanding_messages=2))
        first, second = (each.ack_id for each in (await anext(stream)).received_messages)
        assert len(leased(calls)) == 3  # the third waits in the server
        nacked = calls.other_process.modify_ack_deadline(NAME, [first], 0)
        assert nacked.counts["success"] == 1
        await stream.aclose()  # type: ignore[attr-defined]
        calls.backend.clock.advance(6)  # longer than messages wait for nobody
        await soon(lambda: calls.hub.running(NAME)._exchanged == calls.backend.now())  # type: ignore[union-attr]
        await calls.acknowledge(second)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 2)

    running(test, enable_message_ordering=True)


def test_what_a_killed_server_has_left_is_available_though_a_part_of_it_has_returned(
    tmp_path: Path,
) -> None:
    async def test(calls: Calls) -> None:
        publish(calls, "a", "b", "a")
        first, second, third = calls.store.pull(NAME)
        parsed = parse_ack_id(first.ack_id)
        assert parsed is not None
        left, uid = here(tmp_path, "first"), calls.store.get_subscription(NAME).uid
        waiting = Positions.of([int(third.message_id)])
        left.journal(NAME, uid).leased(parsed.lease_id, waiting)
        calls.store.modify_ack_deadline(NAME, [first.ack_id], 0)
        killed(left)
        now, counters = calls.backend.now, calls.backend.counted
        await Hub(calls.backend, counters, QUICK, now, here(tmp_path)).take_over()
        assert leased(calls) == [int(second.message_id)]

    running(test, enable_message_ordering=True)


def test_nothing_is_of_the_keys_of_nothing() -> None:
    world = InMemory(enable_message_ordering=True)
    world.publish("a", "b")
    messages = world.tables.messages(world.store.get_topic(IN_MEMORY).uid)
    world.pull()
    uid = world.store.get_subscription(IN_MEMORY_NAME).uid
    spans = world.tables.ack_states.read(uid).spans
    for read in (messages.of_same_keys, messages.followers):
        assert not read([], spans)
        assert not read(spans, [])
