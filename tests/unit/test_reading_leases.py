"""Leased messages: when their lease begins, and reading them within the bytes that fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Queue
from typing import Any

import pytest

from pubsub_delta.callbacks import PulledMessage
from pubsub_delta.delivery import leases
from pubsub_delta.errors import DataLoss, FailedPrecondition, NotFound
from pubsub_delta.operations import pull
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import DeadLetterPolicy, ReceivedMessage
from pubsub_delta.tables.ack_state import AckStates, AckStateTables
from tests.unit.builders import DAY, HOUR, MINUTE, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.test_races import once

MANY = leases._READ_AT_FIRST + 3
"""More messages than are read at a time."""
PATIENCE = 20
"""Seconds that a test waits for what comes soon."""


def received(room: int) -> list[ReceivedMessage]:
    world = InMemory()
    world.publish(*(f"{number:010}" for number in range(MANY)))
    lease = pull.pull(world.tables, world.store._subscription(NAME), None, world.driver.clock.now)
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
    lease = pull.pull(world.tables, world.store._subscription(NAME), 2, world.driver.clock.now)
    assert lease is not None
    last = lease.positions.max
    for wanted in (Positions.between(0, last + 5), Positions.of([last, last + 1])):
        held = [each.data for each in lease.receive(wanted, 100)]
        assert held == ([b"a", b"b"] if 0 in wanted else [b"b"])
    assert lease.receive(Positions.of([last + 1]), 100) == []
    assert not lease.set_aside.positions
    assert not recwarn.list


def deleted(world: InMemory) -> None:
    world.store.delete_subscription(NAME)


def created_anew(world: InMemory) -> None:
    world.store.delete_subscription(NAME)
    world.store.create_subscription(NAME, TOPIC)


def detached(world: InMemory) -> None:
    world.store.detach_subscription(NAME)


def sought(world: InMemory) -> None:
    world.store.seek(NAME, time=at(HOUR))


def grown_old(world: InMemory) -> None:
    world.be_at(8 * DAY)  # one more than a subscription retains


ENDS: dict[Callable[[InMemory], None], tuple[type[Exception], str]] = {
    deleted: (NotFound, "does not exist"),
    created_anew: (NotFound, "was deleted and created again"),
    detached: (FailedPrecondition, "is detached"),
    grown_old: (
        FailedPrecondition,
        "2 of the messages of this batch are not leased by it any more",
    ),
    sought: (FailedPrecondition, "2 of the messages of this batch are not leased by it any more"),
}


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("read", [list, lambda batch: batch.arrow()], ids=["iterated", "arrow"])
def test_who_reads_after_the_lease_has_ended_is_told_how(
    end: Callable[[InMemory], None], read: Callable[[Any], object]
) -> None:
    """Nobody can get the messages any more, so retention may delete them: nothing is damaged.

    A process that is stopped meanwhile, for however long, goes on so.
    """
    world = InMemory()
    world.publish("a", "b")
    batch = world.store.pull(NAME)
    world.be_at(1)
    end(world)
    assert sum(world.store.maintain(exact=True).discarded.values()) == 2
    error, told = ENDS[end]
    with pytest.raises(error, match=told):
        read(batch)


def test_who_reads_what_was_acknowledged_is_told_so() -> None:
    world = InMemory()
    world.publish("a", "b")
    batch = world.store.pull(NAME)
    batch.ack()
    world.be_at(1)
    assert sum(world.store.maintain(exact=True).discarded.values()) == 2
    with pytest.raises(FailedPrecondition, match=r"2 of the messages .* they were acknowledged"):
        list(batch)


def test_what_is_lost_of_a_lease_that_lives_is_told_as_a_loss() -> None:
    """Also if an earlier part of the batch was acknowledged, and deleted."""
    world = InMemory()
    world.publish(*"abc")
    batch = world.store.pull(NAME)
    first, second, _ = batch
    batch.ack([first.ack_id])
    world.be_at(1)
    table = world.tables.layout.messages(world.store.get_topic(TOPIC).uid)
    world.driver.world.lane.delete(table, [("position", "=", int(second.message_id))])
    with pytest.raises(DataLoss, match="1 of 3 leased messages are missing"):
        list(batch)


def test_a_lease_that_is_over_is_read_as_long_as_its_messages_are_stored() -> None:
    world = InMemory()
    world.publish("a", "b")
    batch = world.store.pull(NAME)
    world.be_at(DAY)
    assert [each.data for each in batch] == [b"a", b"b"]


def test_who_reads_what_another_consumer_has_leased_since_is_told_so() -> None:
    """It may be acknowledged there, and deleted: nothing is damaged."""
    world = InMemory()
    world.publish("a")
    batch = world.store.pull(NAME)
    world.be_at(MINUTE)
    assert len(world.pull()) == 1
    table = world.tables.layout.messages(world.store.get_topic(TOPIC).uid)
    world.driver.world.lane.delete(table, ())
    with pytest.raises(FailedPrecondition, match=r"1 of the messages .* the lease was over"):
        list(batch)


def test_deliveries_are_counted_with_a_dead_letter_policy_alone() -> None:
    """``delivery_attempt``: "null without a dead-letter policy"."""
    for policy, told in ((None, None), (DeadLetterPolicy(LETTERS, 5), 1)):
        world = InMemory(dead_letter_policy=policy)
        world.publish("a")
        batch = world.store.pull(NAME)
        assert [each.delivery_attempt for each in batch] == [told]
        assert batch.arrow()["delivery_attempt"].to_pylist() == [told]


def test_a_lease_begins_when_it_is_decided_however_long_the_pull_has_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "leases up to that many available messages until now + ack deadline": the consumer has that.

    A pull waits while another process holds the lock of the subscription.
    """
    world = InMemory(enable_exactly_once_delivery=True)
    world.publish("a")
    waits = partial(world.driver.clock.advance, MINUTE)
    once(monkeypatch, AckStateTables, "locked", waits, "before")
    batch = world.driver.open().pull(NAME)
    assert world.now == at(MINUTE)
    assert batch.ack_deadline == at(MINUTE + 10)
    assert len(batch.ack().success) == 1
    assert world.pull() == []


def test_a_lease_of_a_channel_begins_when_it_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """StreamingPull, by callbacks and by the server: the lease lasts as long as it says."""
    world = InMemory()
    world.publish("a")
    uid = world.store.get_subscription(NAME).uid
    name, clock = world.store._subscription(NAME), world.driver.clock.now
    channel = StoreChannel(world.tables, name, uid, clock)
    waits = partial(world.driver.clock.advance, MINUTE)
    once(monkeypatch, AckStates, "change", waits, "before")
    lease = channel.exchange(AckRequest(), 1, world.now).leased
    assert lease is not None
    assert lease.until == at(MINUTE + 10)
    assert world.pull() == []


@pytest.mark.parametrize("repeated", [False, True])
def test_the_lease_of_a_micro_batch_begins_when_it_is_decided(
    monkeypatch: pytest.MonkeyPatch, repeated: bool
) -> None:
    """ "Nobody gets a message that another holds": a query that has waited holds its messages, too.

    Its thread extends the lease from a third of the ack deadline on, if it is not over by then.
    """
    world = InMemory()
    world.publish("a")
    named = (world.driver.open()._tables, world.store._subscription(NAME), "query", 0)
    now, uid = world.driver.clock.now, world.store.get_subscription(NAME).uid
    if repeated:
        pull.pull_micro_batch(world.tables, *named[1:], None, now, uid=uid)
    waits = partial(world.driver.clock.advance, MINUTE)
    once(monkeypatch, AckStateTables, "locked", waits, "before")
    if repeated:
        given = pull.resume_micro_batch(*named, now, uid=uid)
    else:
        given = pull.pull_micro_batch(*named, None, now, uid=uid)
    assert given.lease is not None
    assert given.lease.until == at(MINUTE + 10)
    assert world.pull() == []


def test_what_a_callback_gets_is_leased_however_long_its_subscriber_has_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    world.publish("a")
    got = Queue[PulledMessage]()
    waits = partial(world.driver.clock.advance, MINUTE)
    once(monkeypatch, AckStateTables, "locked", waits, "before")
    subscriber = world.driver.open().subscribe(NAME, got.put, max_workers=1)
    assert got.get(timeout=PATIENCE).data == b"a"
    assert world.now == at(MINUTE)
    assert world.pull() == []
    subscriber.cancel()
    subscriber.result(PATIENCE)


def test_a_new_deadline_counts_from_when_it_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "1–600 = new deadline from now": what is told as a success is nobody else's until then.

    Spark's read of a DataFrame of ack ids takes its time, too.
    """
    world = InMemory()
    world.publish("a", "b")
    one, other = world.pull()
    waiting = world.driver.open()
    once(monkeypatch, AckStateTables, "locked", partial(world.driver.clock.advance, 9), "before")
    assert len(waiting.modify_ack_deadline(NAME, [one.ack_id], 30).success) == 1
    world.be_at(9 + 29)
    assert [each.data for each in world.pull()] == [other.data]
    world.be_at(9 + 30)
    assert [each.data for each in world.pull()] == [one.data]
