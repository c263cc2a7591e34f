"""What processes do, and the stores that they begin with. Times are seconds after START."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pubsub_delta import PulledBatch
from pubsub_delta.policy.ack_ids import parse_ack_id
from tests.model.drivers import MemoryDriver
from tests.protocol.stepping import Handle
from tests.unit.builders import MINUTE
from tests.unit.in_memory import NAME, TOPIC, InMemory

TAKEN, UNDELIVERED, FRESH = "before", "undelivered", "fresh"


class OneTopic(InMemory):
    """A store with the topic ``flights`` and its subscription ``first``, and no others."""

    def __init__(self, **fields: Any) -> None:
        self.driver = MemoryDriver()
        self.store = self.driver.open()
        self.store.create_topic(TOPIC)
        self.store.create_subscription(NAME, TOPIC, **fields)


def two_messages(**fields: Any) -> InMemory:
    world = OneTopic(ack_deadline_seconds=600, **fields)
    world.publish("a", "b")
    world.be_at(MINUTE)
    return world


def take_a_snapshot(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.create_snapshot(TAKEN, NAME)
    handle.tell("taken")


def pull_and_ack(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    batch = handle.store.pull(NAME)
    leased(handle, batch)
    handle.tell("ending")
    handle.tell("acked", batch.ack().counts["success"])


def leased(handle: Handle, batch: PulledBatch) -> None:
    """Tell which messages were leased, and under which lease."""
    for each in batch:
        ack_id = parse_ack_id(each.ack_id)
        assert ack_id is not None
        handle.tell("leased", each.data.decode(), ack_id.position, ack_id.lease_id)


def pull(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    leased(handle, handle.store.pull(NAME))


def pull_and_nack(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    batch = handle.store.pull(NAME, 1)
    leased(handle, batch)
    handle.tell("ending")
    batch.nack()


def delete_what_nobody_needs(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE + 1)
    handle.store.maintain(exact=True, tables=False, dead_letters=False, expiration=False)


def forward_dead_letters(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.maintain(retention=False, tables=False, expiration=False)


def seek_to_the_snapshot(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.seek(NAME, snapshot=TAKEN)
    handle.tell("sought")


def delete_the_snapshot(handle: Handle, world: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.delete_snapshot(TAKEN)
    handle.tell("deleted")
    delete_what_nobody_needs(handle, world)


def publish(*data: str, name: str = TOPIC) -> Callable[[Handle, InMemory], None]:
    def verb(handle: Handle, _: InMemory) -> None:
        handle.be_at(MINUTE)
        for each in data:
            (message_id,) = handle.store.publish(name, [each]).message_ids
            handle.tell("published", each, int(message_id))

    return verb
