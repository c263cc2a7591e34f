"""A snapshot that has expired by one clock may live by another, and is deleted by one commit.

"An expired snapshot is NOT_FOUND at once, and its name is free."
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pubsub_delta.errors import AlreadyExists, NotFound
from pubsub_delta.tables.registry import Registry
from tests.unit.builders import DAY, HOUR, MINUTE, Crashed, at
from tests.unit.in_memory import NAME, InMemory
from tests.unit.test_races import another, once
from tests.unit.test_snapshot_calls import between, left_over

TAKEN = "before"


def nearly_expired() -> tuple[InMemory, Any]:
    """Return a store whose snapshot, which holds a message, has a minute left; and another process.

    By the clock of the other one it has expired.
    """
    world = InMemory()
    world.publish("a")
    world.store.create_snapshot(TAKEN, NAME)
    world.store.update_snapshot(TAKEN, expire_time=at(2 * HOUR))
    world.ack("a")
    world.be_at(2 * HOUR - MINUTE)
    return world, another(world, 2 * MINUTE)


def test_what_is_given_more_time_holds_its_messages_still() -> None:
    world, ahead = nearly_expired()
    told = ahead.maintain(exact=True, expiration=False)
    assert (told.problems, told.discarded) == ({}, {})
    world.store.update_snapshot(TAKEN, expire_time=at(DAY))
    world.store.seek(NAME, snapshot=TAKEN)
    assert [each.data for each in world.pull()] == ["a"]


def test_who_deletes_it_deletes_what_it_held_in_the_same_run() -> None:
    world, ahead = nearly_expired()
    assert [*ahead.maintain(exact=True, dry_run=True).discarded.values()] == [1]
    told = ahead.maintain(exact=True)
    assert (told.problems, [*told.discarded.values()]) == ({}, [1])
    with pytest.raises(NotFound):
        world.store.update_snapshot(TAKEN, expire_time=at(DAY))


def test_at_the_moment_of_its_end_it_is_deleted() -> None:
    """ "An expired snapshot is NOT_FOUND at once", from its expire_time on."""
    world, _ = nearly_expired()
    world.be_at(2 * HOUR)
    told = world.store.maintain()
    assert told.expired == [f"projects/local/snapshots/{TAKEN}"]


def test_the_one_that_has_its_name_is_not_told_as_deleted() -> None:
    """Of the report: "expired: subscriptions and snapshots deleted"."""
    world, _ = nearly_expired()
    world.be_at(2 * HOUR)
    taken = world.store.create_snapshot(TAKEN, NAME)
    for dry_run in (True, False):
        assert world.store.maintain(dry_run=dry_run).expired == []
    assert left_over(world) == []
    assert world.store.get_snapshot(TAKEN) == taken


def test_a_name_that_was_taken_has_one_snapshot_by_every_clock() -> None:
    world, ahead = nearly_expired()
    taken = ahead.create_snapshot(TAKEN, NAME)
    assert world.store.get_snapshot(TAKEN) == taken
    assert list(world.store.list_snapshots()) == [taken]


def test_who_lengthens_it_while_its_name_is_taken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world, ahead = nearly_expired()
    taken = []
    once(
        monkeypatch,
        Registry,
        "change_snapshot",
        lambda: taken.append(ahead.create_snapshot(TAKEN, NAME)),
        "before",
    )
    with pytest.raises(NotFound, match="was deleted meanwhile"):
        world.store.update_snapshot(TAKEN, expire_time=at(DAY))
    assert list(world.store.list_snapshots()) == taken


def test_a_name_is_not_taken_that_is_given_more_time_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, ahead = nearly_expired()
    lengthen = partial(world.store.update_snapshot, TAKEN, expire_time=at(DAY))
    once(monkeypatch, Registry, "_hide", lengthen, "before")
    with pytest.raises(AlreadyExists):
        ahead.create_snapshot(TAKEN, NAME)
    assert [each.expire_time for each in world.store.list_snapshots()] == [at(DAY)]


def test_what_a_snapshot_of_one_topic_is_created_from_keeps_nothing_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    world.store.create_topic("others")
    world.store.create_subscription("reader", "others")
    for topic in ("flights", "others"):
        world.publish("a", topic=topic)

    def die() -> None:
        raise Crashed

    between(world, monkeypatch, die)
    with pytest.raises(Crashed):
        world.store.create_snapshot(TAKEN, NAME)
    world.ack("a")
    world.ack("a", name="reader")
    world.be_at(MINUTE)
    world.store.maintain(exact=True)
    assert (world.stored(), world.stored("others")) == (["a"], [])


def test_maintain_removes_what_a_crash_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """An announced snapshot retains all messages of its topic; nobody finishes it after an hour."""
    world = InMemory()
    world.publish("a")

    def die() -> None:
        raise Crashed

    between(world, monkeypatch, die)
    with pytest.raises(Crashed):
        world.store.create_snapshot(TAKEN, NAME)
    world.ack("a")
    world.be_at(HOUR - 1)
    assert world.store.maintain(exact=True).expired == []
    assert world.stored() == ["a"]
    world.be_at(HOUR)
    assert world.store.maintain(exact=True).expired == ["projects/local/snapshots/before"]
    assert (left_over(world), world.stored()) == ([], [])


def test_a_snapshot_that_fails_a_check_stays_as_it_is() -> None:
    world, _ = nearly_expired()
    registry, there = world.tables.registry, world.store.get_snapshot(TAKEN)
    assert not registry.remove_snapshot(there.uid, lambda _: False)
    assert world.store.get_snapshot(TAKEN) == there
    assert registry.remove_snapshot(there.uid)
    with pytest.raises(NotFound):
        world.store.get_snapshot(TAKEN)
    assert not registry.remove_snapshot(there.uid)
