"""Taking a snapshot: announced, copied, there; or nothing of it. As calls, on tables in memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.errors import Aborted, AlreadyExists, FailedPrecondition, NotFound
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.resources import Snapshot
from pubsub_delta.tables.ack_state.snapshots import SnapshotTables
from tests.unit.builders import DAY, HOUR, MINUTE
from tests.unit.in_memory import NAME, InMemory

TAKEN = "before"


def left_over(world: InMemory) -> list[str]:
    """Return what ``maintain`` would have to remove a long time from now."""
    later = world.now + timedelta(days=30)
    return [each.name for each in world.tables.registry.abandoned_snapshots(later)]


def between(world: InMemory, monkeypatch: pytest.MonkeyPatch, act: Any) -> list[int]:
    """Let somebody act once between the settling and the copying; return how often is copied."""
    registry: Any = world.tables.registry
    capture, tries = registry.capture_snapshot, []

    def crossed(*args: Any) -> AckState | None:
        tries.append(1)
        if len(tries) == 1:
            act()
        found: AckState | None = capture(*args)
        return found

    monkeypatch.setattr(registry, "capture_snapshot", crossed)
    return tries


def test_what_is_refused_leaves_nothing() -> None:
    world = InMemory()
    world.publish("a")
    world.be_at(7 * DAY - HOUR + 1)
    with pytest.raises(FailedPrecondition, match="at least an hour"):
        world.store.create_snapshot(TAKEN, NAME)
    assert left_over(world) == []
    world.ack("a")
    world.store.create_snapshot(TAKEN, NAME)


def test_what_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()

    def fail() -> None:
        raise ConnectionError("the disk is full")

    between(world, monkeypatch, fail)
    with pytest.raises(ConnectionError):
        world.store.create_snapshot(TAKEN, NAME)
    assert left_over(world) == []
    world.store.create_snapshot(TAKEN, NAME)


def test_a_crash_leaves_an_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()

    def die() -> None:
        raise KeyboardInterrupt

    between(world, monkeypatch, die)
    with pytest.raises(KeyboardInterrupt):
        world.store.create_snapshot(TAKEN, NAME)
    assert list(world.store.list_snapshots()) == []
    assert left_over(world) == ["projects/local/snapshots/before"]
    with pytest.raises(AlreadyExists):
        world.store.create_snapshot(TAKEN, NAME)
    world.be_at(10 * MINUTE)
    world.store.create_snapshot(TAKEN, NAME)


def test_a_seek_that_was_noted_meanwhile_is_carried_out_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory(retain_acked_messages=True)
    world.publish("a", "b")
    world.ack("a", "b")
    other = world.driver.open()
    tries = between(world, monkeypatch, lambda: other.seek(NAME, time=world.now))
    world.store.create_snapshot(TAKEN, NAME)
    assert len(tries) == 2
    world.ack("a", "b")
    world.store.seek(NAME, snapshot=TAKEN)
    assert set(world.backlog()) == {"a", "b"}


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


def test_a_copy_of_a_state_that_was_restored_meanwhile_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pub/Sub: a snapshot holds all published later, and what was left out before is none of it.

    An operator restores the ack state between the settling and the copying: its tail is behind.
    """
    world = InMemory(filter="attributes:kept")
    uid = world.store.get_subscription(NAME).uid
    world.publish("left out")
    world.publish("before", attributes={"kept": ""})
    table = world.tables.layout.ack_state(uid)

    def restore() -> None:
        world.driver.world.lane.restore(table, 0)
        world.tables.ack_states.forget(uid)

    tries = between(world, monkeypatch, restore)
    world.store.create_snapshot(TAKEN, NAME)
    assert len(tries) == 2
    world.store.create_subscription("second", "flights")
    world.store.seek("second", snapshot=TAKEN)
    assert set(world.backlog("second")) == {"before"}


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
