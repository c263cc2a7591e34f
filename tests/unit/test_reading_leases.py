"""Reading leased messages, within the bytes that their consumer has room for."""

from __future__ import annotations

import pytest

from pubsub_delta.delivery import leases
from pubsub_delta.operations import pull
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from tests.unit.in_memory import NAME, InMemory

MANY = leases._READ_AT_FIRST + 3
"""More messages than are read at a time."""


def received(room: int) -> list[ReceivedMessage]:
    world = InMemory()
    world.publish(*(f"{number:010}" for number in range(MANY)))
    lease = pull.pull(world.tables, world.store._subscription(NAME), None, world.now)
    assert lease is not None
    return lease.receive(lease.positions, room)


def test_no_more_bytes_are_read_than_there_is_room_for_however_many_messages() -> None:
    """Pub/Sub: flow control limits "the maximum number of outstanding bytes"."""
    assert len(received(10 * (MANY - 2))) == MANY - 2
    assert len(received(10 * (MANY - 2) + 9)) == MANY - 2
    assert len(received(10 * MANY)) == MANY
    at_once = leases._READ_AT_FIRST
    assert len(received(10 * at_once)) == at_once, "what is read first fills the room"
    assert len(received(9)) == 1, "a message that is larger than the room comes alone"


def test_what_a_batch_does_not_hold_is_neither_read_nor_told_as_lost(
    recwarn: pytest.WarningsRecorder,
) -> None:
    """A message that was acknowledged meanwhile is in nobody's batch, and is not missing."""
    world = InMemory()
    world.publish(*"abc")
    lease = pull.pull(world.tables, world.store._subscription(NAME), 2, world.now)
    assert lease is not None
    last = lease.positions.max
    for wanted in (Positions.between(0, last + 5), Positions.of([last, last + 1])):
        held = [each.data for each in lease.receive(wanted, 100)]
        assert held == ([b"a", b"b"] if 0 in wanted else [b"b"])
    assert lease.receive(Positions.of([last + 1]), 100) == []
    assert not lease.set_aside.positions
    assert not recwarn.list
