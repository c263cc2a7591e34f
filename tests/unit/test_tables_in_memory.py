"""Tables on a lane in memory: races, lost answers, and logs that were cut or restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from pubsub_delta import DataLoss, DeadLetterPolicy, FailedPrecondition
from pubsub_delta.policy.ack_ids import END_OF_POSITIONS
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.messages import position_allocator
from pubsub_delta.tables.messages.messages import Messages
from tests.model.memory import LAYOUT
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import DAY, HOUR, MINUTE, Crashed, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


def once(monkeypatch: pytest.MonkeyPatch, method: str, act: Callable[..., Any]) -> list[str]:
    """Let the next call of a method of the lane do something else; return the calls' tables.

    ``act`` is given the lane, the method as it is, and the arguments.
    """
    real, calls = getattr(MemoryLane, method), []

    def crossed(lane: MemoryLane, table: str, *args: Any, **named: Any) -> Any:
        calls.append(table)
        if len(calls) == 1:
            return act(lane, real, table, *args, **named)
        return real(lane, table, *args, **named)

    monkeypatch.setattr(MemoryLane, method, crossed)
    return calls


def after(error: Exception) -> Callable[..., Any]:
    """Let a call do what it does, and lose its answer."""

    def lost(lane: MemoryLane, real: Callable[..., Any], *args: Any, **named: Any) -> Any:
        real(lane, *args, **named)
        raise error

    return lost


def behind(other: Callable[[], object]) -> Callable[..., Any]:
    """Let somebody else be faster."""

    def late(lane: MemoryLane, real: Callable[..., Any], *args: Any, **named: Any) -> Any:
        other()
        return real(lane, *args, **named)

    return late


def ids(store: Any, *data: str, topic: str = TOPIC) -> list[int]:
    return [*map(int, store.publish(topic, data).message_ids)]


def positions_table(world: InMemory) -> str:
    return LAYOUT.positions(world.store.get_topic(TOPIC).uid)


# Positions


def test_who_publishes_later_gets_higher_positions_whatever_block_is_left() -> None:
    world = InMemory()
    one, other = world.driver.open(), world.driver.open()
    told = [ids(store, "m") for store in (one, other, one, one, other, one)]
    assert told == sorted(told)
    assert len({each for (each,) in told}) == len(told)


def test_a_block_that_nobody_has_passed_is_used_up() -> None:
    world = InMemory()
    (first,), (second, third), (fourth,) = (
        ids(world.store, *data) for data in (("a",), ("b", "c"), ("d",))
    )
    assert [second, third, fourth] == [first + 1, first + 2, first + 3]


def test_two_who_reserve_at_once_are_given_different_ranges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    one, other = world.driver.open(), world.driver.open()
    found: list[int] = []
    once(monkeypatch, "merge", behind(lambda: found.extend(ids(other, "b"))))
    found += ids(one, "a")
    assert len(set(found)) == 2


@pytest.mark.parametrize("count", [3, 4, 5, 9])
def test_a_publish_of_more_than_a_block_shares_no_position(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """ "A range is given out once", also while none of its messages is stored yet."""
    monkeypatch.setattr(position_allocator, "BLOCK", 4)
    world = InMemory()
    table, uid = positions_table(world), world.store.get_topic(TOPIC).uid
    firsts = []
    for store in (world.store, world.driver.open(), world.store):
        tables = store._tables
        firsts.append(tables._allocator.allocate(table, count, tables.messages(uid).history))
    given = [first + n for first in firsts for n in range(count)]
    assert len(set(given)) == len(given)


def test_positions_are_given_out_once_though_their_row_is_restored() -> None:
    world = InMemory()
    before = ids(world.store, "a", "b")
    world.driver.world.lane.restore(positions_table(world), 0)
    assert min(ids(world.driver.open(), "c")) > max(before)


def test_positions_are_given_out_once_however_long_ago_the_last_publish_was() -> None:
    """Maintenance commits, too: the last publish is behind all that, and its messages are gone."""
    world = InMemory()
    before, lane = ids(world.store, "a", "b"), world.driver.world.lane
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    lane.delete(messages.table, ())
    for _ in range(30):
        lane.restore(messages.table, messages.history.version())
    lane.restore(positions_table(world), 0)
    assert min(ids(world.driver.open(), "c")) > max(before)


def test_positions_of_messages_that_are_gone_are_not_given_out_again_though_their_log_is_cut() -> (
    None
):
    """What the log still tells of the last publish counts, whatever was committed since."""
    world = InMemory()
    ids(world.store, "a")
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    lane = world.driver.world.lane
    lane.cut_log(messages.table)
    lane.restore(messages.table, messages.history.version())
    before = ids(world.store, "b", "c")
    lane.delete(messages.table, ())
    lane.restore(positions_table(world), 0)
    assert min(ids(world.driver.open(), "d")) > max(before)


def test_positions_of_stored_messages_are_not_given_out_again_though_their_log_is_cut() -> None:
    world = InMemory()
    before, lane = ids(world.store, "a", "b"), world.driver.world.lane
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    lane.restore(messages.table, messages.history.version())
    lane.cut_log(messages.table)
    lane.restore(positions_table(world), 0)
    assert min(ids(world.driver.open(), "c")) > max(before)


def test_a_topic_has_positions_up_to_the_last_and_refuses_what_goes_beyond() -> None:
    """ "a partition with more rows than its range is refused with what to do"."""
    world = InMemory()
    tables, table = world.tables, positions_table(world)
    history = tables.messages(world.store.get_topic(TOPIC).uid).history
    allocator = tables._allocator
    first = allocator.reserve(table, END_OF_POSITIONS - 10, history)
    with pytest.raises(FailedPrecondition, match="publish to a new topic"):
        allocator.reserve(table, 11 - first, history)
    assert allocator.reserve(table, 10 - first, history) == END_OF_POSITIONS - 10 + first


# Publishes


def test_a_put_that_met_itself_has_published_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object store's client sends again what was not answered, and meets its own commit."""
    world = InMemory()
    once(monkeypatch, "append", after(Conflict("it exists")))
    ids(world.store, "a")
    assert world.stored() == ["a"]


def test_a_publish_that_lost_a_race_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()

    def refused(*_: Any, **__: Any) -> bool:
        raise Conflict("somebody was faster")

    once(monkeypatch, "append", refused)
    told = ids(world.store, "a")
    assert world.stored() == ["a"]
    assert [int(each.message_id) for each in world.pull()] == told


def test_an_idempotency_id_is_published_once_and_told_as_it_was() -> None:
    world = InMemory()
    first = world.store.publish(TOPIC, ["a"], idempotency_id=("app", 1))
    world.be_at(MINUTE)
    again = world.driver.open().publish(TOPIC, ["a"], idempotency_id=("app", 1))
    assert (first.message_count, again.message_count) == (1, 1)
    assert (again.publish_time, [*again.message_ids]) == (first.publish_time, [*first.message_ids])
    assert world.stored() == ["a"]


# The log


def test_all_that_is_stored_is_new_where_the_log_was_cut() -> None:
    world = InMemory()
    world.publish("acked", "held")
    world.ack("acked")
    (held,) = world.pull()
    world.publish("never seen")
    world.publish("nor this")
    world.driver.world.lane.cut_log(LAYOUT.messages(world.store.get_topic(TOPIC).uid))
    fresh = world.driver.open()
    assert world.driver.backlog(fresh, NAME).keys() >= {held.message_id}
    assert world.backlog() == {
        "acked": "available",
        "held": "leased",
        "never seen": "available",
        "nor this": "available",
    }


def test_what_was_deleted_before_anybody_looked_does_not_come() -> None:
    world = InMemory()
    first, _ = ids(world.store, "deleted", "kept")
    table = LAYOUT.messages(world.store.get_topic(TOPIC).uid)
    world.driver.world.lane.delete(table, [("position", "=", first)])
    assert world.backlog() == {"kept": "available"}
    assert world.store.pull(NAME).message_count == 1, "what is not stored is not leased"


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_gone_from_the_topic_is_told_to_who_leased_it(place: int) -> None:
    world = InMemory()
    world.publish("a", "b")
    batch = world.store.pull(NAME)
    gone = [int(each.message_id) for each in batch][place]
    table = LAYOUT.messages(world.store.get_topic(TOPIC).uid)
    world.driver.world.lane.delete(table, [("position", "=", gone)])
    with pytest.raises(DataLoss, match="1 of 2 leased messages are missing"):
        list(batch)
    with pytest.raises(DataLoss, match="1 of 2 leased messages are missing"):
        batch.arrow()


def test_nothing_is_deleted_that_a_slow_publisher_added_just_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    world.publish("old")
    world.ack("old")
    world.be_at(10 * DAY)
    table, count = LAYOUT.messages(world.store.get_topic(TOPIC).uid), Messages.count_before

    def crossed(messages: Messages, time: datetime) -> int:
        if messages.table == table:
            world.publish("late", late=int(9 * DAY))
        return count(messages, time)

    monkeypatch.setattr(Messages, "count_before", crossed)
    report = world.store.maintain()
    assert "a slow publisher" in report.problems[f"projects/local/topics/{TOPIC}"]
    assert world.stored() == ["old", "late"]


# Ack states


def test_who_remembers_a_state_does_not_write_over_another_of_the_same_revision() -> None:
    world = InMemory()
    world.publish("a", "b")
    mine, other = world.driver.open(), world.driver.open()
    world.driver.pull(mine, NAME, 1)
    table = LAYOUT.ack_state(world.store.get_subscription(NAME).uid)
    world.driver.world.lane.restore(table, 0)
    other.seek(NAME, time=at(60))  # acknowledges both
    assert world.driver.pull(mine, NAME, None) == []
    assert world.driver.backlog(mine, NAME) == {}


def test_a_lease_of_a_deleted_subscription_is_none_of_its_successor() -> None:
    world = InMemory()
    world.publish("a")
    batch = world.store.pull(NAME)
    world.store.delete_subscription(NAME)
    world.store.create_subscription(NAME, TOPIC)
    world.publish("b")
    assert len(world.pull()) == 1
    result = batch.ack()
    assert (len(result.success), len(result.invalid)) == (0, 1)
    assert world.backlog() == {"b": "leased"}


# Dead letters


def exhausted() -> InMemory:
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    world.publish("a")
    for _ in range(5):
        world.store.modify_ack_deadline(NAME, [each.ack_id for each in world.pull()], 0)
    return world


def test_dead_letters_land_once_whoever_dies_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    world = exhausted()

    def die(lane: MemoryLane, real: Callable[..., Any], *args: Any, **named: Any) -> Any:
        real(lane, *args, **named)
        raise Crashed

    with monkeypatch.context() as patched:
        once(patched, "append", die)
        with pytest.raises(Crashed):
            world.pull()
    assert world.backlog() == {"a": "forwarding"}
    world.publish("b")
    assert [each.data for each in world.driver.pull(world.driver.open(), NAME, None)] == ["b"]
    assert world.stored(LETTERS) == ["a"]
    assert world.backlog() == {"b": "leased"}


def test_dead_letters_land_once_though_the_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    world = exhausted()
    once(monkeypatch, "append", after(ConnectionError("the answer was lost")))
    assert world.pull() == []
    assert world.stored(LETTERS) == ["a"]
    assert world.backlog() == {}


# The registry


def test_a_change_is_decided_again_where_somebody_was_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    other = world.driver.open()
    calls = once(
        monkeypatch, "merge", behind(lambda: other.update_topic(TOPIC, labels={"by": "other"}))
    )
    world.store.update_topic(TOPIC, message_retention_duration="1d")
    found = world.driver.open().get_topic(TOPIC)
    assert (found.labels, found.message_retention_duration) == (
        {"by": "other"},
        timedelta(seconds=DAY),
    )
    assert len(calls) == 3


def test_a_change_whose_answer_was_lost_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()
    once(monkeypatch, "merge", after(ConnectionError("the answer was lost")))
    seen = world.store.get_topic(TOPIC)
    world.store.update_topic(TOPIC, labels={"by": "me"}, if_unchanged=seen)
    assert world.driver.open().get_topic(TOPIC).labels == {"by": "me"}


def test_a_change_that_another_followed_at_once_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    other = world.driver.open()

    def followed(lane: MemoryLane, real: Callable[..., Any], *args: Any, **named: Any) -> Any:
        real(lane, *args, **named)
        other.update_topic(TOPIC, labels={"by": "other"})
        raise Conflict("it exists")

    once(monkeypatch, "merge", followed)
    world.store.update_topic(TOPIC, labels={"by": "me"})
    assert world.driver.open().get_topic(TOPIC).labels == {"by": "other"}


def test_a_resource_whose_answer_was_lost_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()
    once(monkeypatch, "merge", after(ConnectionError("the answer was lost")))
    world.store.create_topic("second")
    assert world.driver.open().get_topic("second")


def test_a_snapshot_that_is_being_taken_holds_every_message() -> None:
    world = InMemory()
    world.publish("a")
    world.ack("a")
    registry = world.tables.registry
    topic = world.store.get_topic(TOPIC)
    world.store.create_snapshot("model", NAME)
    snapshot = world.store.get_snapshot("model")
    world.store.delete_snapshot("model")
    world.be_at(HOUR)
    announced = replace(snapshot, uid="f" * 32, create_time=world.now)
    assert registry.announce_snapshot(announced, topic.uid, "")
    world.store.maintain(exact=True)
    assert world.stored() == ["a"]
    registry.remove_snapshot(announced.uid)
    world.store.maintain(exact=True)
    assert world.stored() == []
