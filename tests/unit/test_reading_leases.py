"""Reading leased messages, within the bytes that their consumer has room for."""

from __future__ import annotations

from pubsub_delta.delivery import leases
from pubsub_delta.operations import pull
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
