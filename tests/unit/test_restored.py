"""What a RESTORE by hand, and commits of others, must not make a store forget."""

from __future__ import annotations

from dataclasses import replace

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.ack_state.states import AckStates
from pubsub_delta.tables.messages.commits import History, KnownCommits
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


def test_a_publish_is_known_only_where_it_follows_the_last_known_commit() -> None:
    world = InMemory()
    lane = world.driver.world.lane
    table = world.tables.messages(world.store.get_topic(TOPIC).uid).table
    known = KnownCommits()
    history = History(lane, table, known)
    assert [each.version for each in history.commits_after(0)[0]] == []
    world.publish("of another")
    world.publish("own")
    history.add(lane.history(table, 1)[0])
    assert [each.version for each in history.commits_after(0)[0]] == [2, 1]
