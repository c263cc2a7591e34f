"""Taking a snapshot: announced, copied, there; or nothing of it. As calls, on tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.errors import Aborted, AlreadyExists, FailedPrecondition, NotFound
from pubsub_delta.policy.replay import MAX_NOTED_SEEKS
from pubsub_delta.resources import Snapshot
from pubsub_delta.tables.ack_state.snapshots import SnapshotTables
from tests.model.memory import LAYOUT
from tests.unit.builders import DAY, HOUR, MINUTE, Crashed, at
from tests.unit.in_memory import NAME, InMemory
from tests.unit.test_crossed_changes import at_the_write

TAKEN = "before"


def left_over(world: InMemory) -> list[str]:
    """Return what ``maintain`` would have to remove a long time from now."""
    later = world.now + timedelta(days=30)
    return [each.name for each in world.tables.registry.abandoned_snapshots(later)]


def between(world: InMemory, monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Let somebody act once between the announcement and the writing of the snapshot's table."""
    registry: Any = world.tables.registry
    capture = registry.capture_snapshot

    def crossed(*args: Any) -> None:
        monkeypatch.setattr(registry, "capture_snapshot", capture)
        act()
        capture(*args)

    monkeypatch.setattr(registry, "capture_snapshot", crossed)


def test_what_is_refused_leaves_nothing() -> None:
    world = InMemory()
    world.publish("a")
    world.be_at(7 * DAY - HOUR + 1)
    with pytest.raises(FailedPrecondition, match="at least an hour"):
        world.store.create_snapshot(TAKEN, NAME)
    assert left_over(world) == []
    world.ack("a")
    world.store.create_snapshot(TAKEN, NAME)
    world.store.delete_topic(world.store.get_subscription(NAME).topic)
    with pytest.raises(FailedPrecondition, match="its topic was deleted"):
        world.store.create_snapshot("later", NAME)
    assert left_over(world) == []


FAILURES = {
    "a failure": ConnectionError("the disk is full"),
    "Ctrl-C": KeyboardInterrupt(),
    "an exit": SystemExit(),
}
each_failure = pytest.mark.parametrize("why", FAILURES)


def raising(why: str) -> Callable[[], None]:
    def fail() -> None:
        raise FAILURES[why]

    return fail


@each_failure
def test_what_fails_leaves_nothing(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that failed, or that its user interrupted, leaves no name that is taken."""
    world = InMemory()
    between(world, monkeypatch, raising(why))
    with pytest.raises(type(FAILURES[why])):
        world.store.create_snapshot(TAKEN, NAME)
    assert left_over(world) == []
    world.store.create_snapshot(TAKEN, NAME)


def test_what_is_interrupted_once_it_is_announced_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As above, where the signal comes while the announcement is committed."""
    world = InMemory()
    at_the_write(monkeypatch, LAYOUT.snapshots, raising("Ctrl-C"), "after")
    with pytest.raises(KeyboardInterrupt):
        world.store.create_snapshot(TAKEN, NAME)
    assert left_over(world) == []
    world.store.create_snapshot(TAKEN, NAME)


def test_a_crash_leaves_an_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()

    def die() -> None:
        raise Crashed

    between(world, monkeypatch, die)
    with pytest.raises(Crashed):
        world.store.create_snapshot(TAKEN, NAME)
    assert list(world.store.list_snapshots()) == []
    assert left_over(world) == ["projects/local/snapshots/before"]
    with pytest.raises(AlreadyExists, match="keeps the name for 10 minutes"):
        world.store.create_snapshot(TAKEN, NAME)
    world.be_at(10 * MINUTE)
    world.store.create_snapshot(TAKEN, NAME)


def test_a_seek_that_was_noted_before_is_carried_out_in_what_a_snapshot_holds() -> None:
    """Pub/Sub: a snapshot holds what is unacknowledged, also by a seek."""
    world = InMemory(retain_acked_messages=True)
    world.publish("a", "b")
    world.ack("a", "b")
    world.driver.open().seek(NAME, time=world.now)
    world.store.create_snapshot(TAKEN, NAME)
    world.ack("a", "b")
    world.store.seek(NAME, snapshot=TAKEN)
    assert set(world.backlog()) == {"a", "b"}


def test_what_others_do_after_the_ack_state_was_read_is_not_in_a_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Decision 0029: a snapshot is what the ack state was when it was read."""
    world = InMemory()
    world.publish("a", "b")
    other = world.driver.open()
    between(world, monkeypatch, lambda: other.pull(NAME, 1).ack())
    world.store.create_snapshot(TAKEN, NAME)
    assert len(world.backlog()) == 1
    world.store.seek(NAME, snapshot=TAKEN)
    assert set(world.backlog()) == {"a", "b"}


def test_a_snapshot_does_not_write_the_ack_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 0029: the next pull brings it up to date."""
    world = InMemory()
    world.publish("a")
    monkeypatch.setattr(world.tables.ack_states, "change", None)
    world.store.create_snapshot(TAKEN, NAME)
    monkeypatch.undo()
    world.ack("a")
    world.store.seek(NAME, snapshot=TAKEN)
    assert set(world.backlog()) == {"a"}


def test_the_tail_of_a_snapshot_begins_where_it_was_taken() -> None:
    """Pub/Sub: it holds what was unacknowledged, and all published later, whatever the filter."""
    world = InMemory(filter="attributes:kept")
    world.publish("left out before")
    world.publish("before", attributes={"kept": ""})
    world.store.create_snapshot(TAKEN, NAME)
    world.publish("left out after")
    world.store.create_subscription("second", "flights")
    world.store.seek("second", snapshot=TAKEN)
    assert set(world.backlog("second")) == {"before", "left out after"}


def test_who_was_too_slow_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()
    other = world.driver.open()

    def take_over() -> None:
        world.be_at(10 * MINUTE)
        other.create_snapshot(TAKEN, NAME, labels={"by": "other"})

    between(world, monkeypatch, take_over)
    with pytest.raises(Aborted, match="took too long"):
        world.store.create_snapshot(TAKEN, NAME)
    assert world.store.get_snapshot(TAKEN).labels == {"by": "other"}
    assert left_over(world) == []


def test_a_snapshot_that_another_thread_has_announced_is_not_finished_with_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    world.publish("a")
    registry = world.tables.registry
    assert not list(world.store.list_snapshots())  # so the rows that are added are known
    topic = world.tables.topic(world.store._topic("flights"))
    name, later = "projects/local/snapshots/other", world.now + timedelta(days=7)
    other = Snapshot(name, topic.name, later, {}, world.now, world.tables.new_id())
    between(world, monkeypatch, lambda: registry.announce_snapshot(other, topic.uid, ""))
    world.store.create_snapshot(TAKEN, NAME)
    assert [each.name for each in world.store.list_snapshots()] == [
        world.store.get_snapshot(TAKEN).name
    ]
    assert left_over(world) == [name], "its own process finishes it"


def test_a_snapshot_whose_table_cannot_be_deleted_is_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error would deny what the first commit has done; ``maintain`` deletes the table later."""
    world = InMemory()
    world.publish("a")
    world.store.create_snapshot(TAKEN, NAME)

    def fail(*_: object) -> None:
        raise FailedPrecondition("no space is left")

    with monkeypatch.context() as patch:
        patch.setattr(SnapshotTables, "drop", fail)
        world.store.delete_snapshot(TAKEN)
    with pytest.raises(NotFound):
        world.store.get_snapshot(TAKEN)
    world.be_at(DAY)
    assert len(left_over(world)) == 1
    assert world.store.maintain().problems == {}
    assert left_over(world) == []


def test_no_more_than_a_few_seeks_are_noted_before_they_are_carried_out() -> None:
    """ "The most noted seeks; then they are carried out before another one is noted"."""
    world = InMemory()
    uid = world.store.get_subscription(NAME).uid
    for n in range(3 * MAX_NOTED_SEEKS):
        world.store.seek(NAME, time=at(n))
        assert len(world.tables.ack_states.read(uid).seeks) <= MAX_NOTED_SEEKS
