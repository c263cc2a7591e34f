"""What a RESTORE by hand, and commits of others, must not make a store forget."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, FailedPrecondition
from pubsub_delta.operations import pull
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.ack_state.states import AckStates
from pubsub_delta.tables.lanes.protocol import LoggedCommit
from pubsub_delta.tables.messages.commits import CommitCache, History
from pubsub_delta.tables.messages.messages import Messages
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import HOUR, MINUTE
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

ATTEMPTS = 5


def counted(state: AckState) -> tuple[AckState, int]:
    return replace(state, next_lease_id=state.next_lease_id + 1), state.next_lease_id


def test_numbers_of_leases_given_out_before_a_restore_are_not_given_out_again() -> None:
    # "RESTORE of an ack state by hand must neither repeat nor skip numbers that were given out."
    world = InMemory()
    uid, port = world.store.get_subscription(NAME).uid, world.tables.ack_state_tables

    def draw() -> int:
        return AckStates(port, world.driver.world.new_id, lambda _: None).change(uid, counted)

    before = {draw() for _ in range(4)}
    world.driver.world.lane.restore(port.table(uid), 1)
    after = {draw() for _ in range(4)}
    assert len(before | after) == 8


def test_a_micro_batch_that_is_run_again_after_a_restore_is_given_no_other_messages() -> None:
    """The sink may have committed its batch id, and skips whatever comes under it: it were lost."""
    world = InMemory()
    name, uid = world.store._subscription(NAME), world.store.get_subscription(NAME).uid
    table = world.tables.ack_state_tables.table(uid)

    def run(batch_id: int, *, repeated: bool = False) -> list[str]:
        asked = (world.tables, name, "query", batch_id, None, world.driver.clock.now)
        lease = pull.pull_micro_batch(*asked, uid=uid, repeated=repeated).lease
        read = [] if lease is None else lease.receive(lease.positions, 1_000)
        return [each.data.decode() for each in read]

    world.publish("a")
    assert run(0) == ["a"]
    world.driver.world.lane.restore(table, 0)
    world.publish("b")
    assert run(0, repeated=True) == []
    assert run(1) == ["a", "b"]
    assert run(1, repeated=True) == ["a", "b"]


def fail_all(world: InMemory) -> None:
    """Have every message that is there fail its permitted attempts, and forward what is left."""
    for _ in range(ATTEMPTS):
        pulled = world.pull()
        world.store.modify_ack_deadline(NAME, [each.ack_id for each in pulled], 0)
    assert world.pull() == []


def test_what_is_forwarded_after_a_restore_arrives_though_its_number_was_used() -> None:
    # "before a forwarding is forgotten it is known to have landed"
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, ATTEMPTS))
    table = world.tables.ack_state_tables.table(world.store.get_subscription(NAME).uid)
    world.publish("first")
    fail_all(world)
    world.driver.world.lane.restore(table, 0)
    world.store = world.driver.open()
    world.publish("later")
    fail_all(world)
    assert world.stored(LETTERS) == ["first", "first", "later"]
    assert world.backlog() == {}


def deleted_since(world: InMemory, version: int) -> None:
    """Restore an ack state to a version, messages of which were deleted since."""
    world.be_at(HOUR)
    world.publish("later")
    world.be_at(2 * HOUR)
    told = world.store.maintain(exact=True, dead_letters=False, expiration=False)
    assert (list(told.discarded.values()), told.problems) == ([3], {})
    uid = world.store.get_subscription(NAME).uid
    world.driver.world.lane.restore(world.tables.ack_state_tables.table(uid), version)
    world.store = world.driver.open()


def test_a_restored_state_waits_for_nothing_that_was_deleted_since() -> None:
    """An operator restored an ack state: it names messages that nobody needed meanwhile."""
    world = InMemory()
    world.publish("a", "b", "c")
    first = world.pull()
    uid = world.store.get_subscription(NAME).uid
    version = world.driver.world.lane.version(world.tables.ack_state_tables.table(uid))
    world.store.acknowledge(NAME, [each.ack_id for each in first])
    deleted_since(world, version)
    assert world.backlog() == {"later": "available"}
    assert [each.data for each in world.pull()] == ["later"]
    assert world.store.metrics(NAME)["num_undelivered_messages"] == 1


def test_where_the_log_was_cut_it_is_looked_what_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    world.publish("a", "b", "c")
    first = world.pull()
    uid = world.store.get_subscription(NAME).uid
    version = world.driver.world.lane.version(world.tables.ack_state_tables.table(uid))
    world.store.acknowledge(NAME, [each.ack_id for each in first])
    deleted_since(world, version)
    world.publish("last")
    history = MemoryLane.history

    def cut(lane: MemoryLane, *asked: Any) -> list[LoggedCommit]:
        is_topic = asked[0] == world.tables.messages(world.store.get_topic(TOPIC).uid).table
        return history(lane, *asked)[:1] if is_topic else history(lane, *asked)

    monkeypatch.setattr(MemoryLane, "history", cut)
    world.store = world.driver.open()
    assert world.backlog() == {"later": "available", "last": "available"}


def test_whether_messages_are_gone_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a look at the topic, which the next pull of nothing should not repeat."""
    world = InMemory()
    world.publish("a")
    world.ack("a")
    world.be_at(1)
    world.publish("b")
    (b,) = world.pull()
    world.store.modify_ack_deadline(NAME, [b.ack_id], 600)
    world.be_at(MINUTE)
    told = world.store.maintain(exact=True, dead_letters=False, expiration=False)
    assert list(told.discarded.values()) == [1]
    looks: list[Positions] = []
    real = Messages.positions_within

    def noted(messages: Messages, positions: Positions) -> Positions:
        looks.append(positions)
        return real(messages, positions)

    monkeypatch.setattr(Messages, "positions_within", noted)
    assert world.pull() == world.pull() == world.pull() == []
    assert len(looks) == 1


def test_a_restored_topic_has_no_more_messages_than_it_holds() -> None:
    world = InMemory()
    world.publish("a")
    version = world.driver.world.lane.version(
        world.tables.messages(world.store.get_topic(TOPIC).uid).table
    )
    world.publish("b")
    world.pull()
    world.driver.world.lane.restore(
        world.tables.messages(world.store.get_topic(TOPIC).uid).table, version
    )
    world.be_at(MINUTE)
    assert [each.data for each in world.driver.pull(world.driver.open(), NAME, None)] == ["a"]


def test_a_publish_that_a_restore_has_taken_back_is_not_told_as_done() -> None:
    """A caller-supplied idempotency id makes the second attempt a no-op, if there was a first."""
    world = InMemory()
    publish = partial(world.store.publish, TOPIC)
    publish([b"kept"], idempotency_id=("load", 1))
    publish([b"taken back"], idempotency_id=("load", 2))
    lane, uid = world.driver.world.lane, world.store.get_topic(TOPIC).uid
    table = world.tables.messages(uid).table
    lane.restore(table, lane.version(table) - 1)
    assert publish([b"kept"], idempotency_id=("load", 1)).message_count == 1
    with pytest.raises(FailedPrecondition, match=r"version 2 of 'load' .* the topic was restored"):
        publish([b"taken back"], idempotency_id=("load", 2))
    publish([b"taken back"], idempotency_id=("load", 3))
    assert [each.data for each in world.pull()] == ["kept", "taken back"]


def test_a_publish_is_known_only_where_it_follows_the_last_known_commit() -> None:
    world = InMemory()
    lane = world.driver.world.lane
    table = world.tables.messages(world.store.get_topic(TOPIC).uid).table
    known = CommitCache()
    history = History(lane, table, known)
    assert [each.version for each in history.commits_after(0).commits] == []
    world.publish("of another")
    world.publish("own")
    history.add(lane.history(table, 1)[0])
    assert [each.version for each in history.commits_after(0).commits] == [2, 1]
