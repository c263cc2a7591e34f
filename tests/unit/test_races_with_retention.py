"""Seeks, snapshots and publishers beside retention: what somebody is given is not deleted.

Each test lets another process act for real, at the worst moment, on tables in memory. None needs a
lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from pubsub_delta.tables.messages.messages import Messages
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import DAY, MINUTE, Crashed, at
from tests.unit.in_memory import NAME, TOPIC, InMemory
from tests.unit.test_races import (
    FLIGHTS,
    TAKEN,
    another,
    between_look_and_deletion,
    catch_up,
    clean_up,
    once,
)


def covered_for_a_second() -> InMemory:
    """Return a store with a message that its topic retains, and will not in a second."""
    world = InMemory()
    world.store.update_topic(TOPIC, message_retention_duration="10m")
    world.publish("a")
    world.ack("a")
    world.be_at(10 * MINUTE)
    return world


def test_what_a_seek_to_a_time_brings_back_meanwhile_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing that a live subscription may still deliver is ever deleted from the topic."""
    world = covered_for_a_second()

    def seek_and_look() -> None:
        another(world).seek(NAME, time=at(0))
        catch_up(world)

    between_look_and_deletion(monkeypatch, seek_and_look)
    told = clean_up(world)
    assert told.discarded == {}
    assert "nothing was deleted" in told.problems[FLIGHTS]
    assert world.stored() == ["a"]
    assert list(world.backlog()) == ["a"]


def test_what_a_snapshot_captures_meanwhile_is_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor that a live snapshot may deliver: one of what a seek had brought back for a while."""
    world = covered_for_a_second()

    def seek_and_take() -> None:
        other = another(world)
        other.seek(NAME, time=at(0))
        other.create_snapshot(TAKEN, NAME)
        other.acknowledge(NAME, [each.ack_id for each in other.pull(NAME)])

    between_look_and_deletion(monkeypatch, seek_and_take)
    assert clean_up(world).discarded == {}
    world.be_at(11 * MINUTE)
    world.store.seek(NAME, snapshot=TAKEN)
    assert [each.data for each in world.pull()] == ["a"]


def messages_table(world: InMemory) -> str:
    return world.tables.messages(world.store.get_topic(TOPIC).uid).table


def seek_only(other: Any, _: InMemory) -> None:
    other.seek(NAME, time=at(0))


def seek_and_carry_out(other: Any, _: InMemory) -> None:
    seek_only(other, _)
    assert not other.pull(NAME).message_count


def seek_and_capture(other: Any, _: InMemory) -> None:
    seek_only(other, _)
    other.create_snapshot(TAKEN, NAME)


def subscribe_and_seek(other: Any, _: InMemory) -> None:
    other.create_subscription("new", TOPIC)
    other.seek("new", time=at(0))


@pytest.mark.parametrize(
    "act", [seek_only, seek_and_carry_out, seek_and_capture, subscribe_and_seek]
)
def test_a_seek_after_the_last_look_of_retention_brings_back_nothing_that_goes(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[Any, InMemory], None]
) -> None:
    """Retention announces what it deletes before its last look: each sees the other."""
    world = covered_for_a_second()
    once(monkeypatch, Messages, "discard_before", lambda: act(another(world), world), "before")
    assert clean_up(world).discarded == {FLIGHTS: 1}
    assert world.stored() == []
    world.be_at(11 * MINUTE)
    for name in ("new",) if act is subscribe_and_seek else (NAME,):
        assert world.pull(name=name) == []
        assert world.backlog(name) == {}
    if act is seek_and_capture:
        world.store.seek(NAME, snapshot=TAKEN)
        assert world.pull() == []


def test_what_a_seek_brought_back_before_the_announcement_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Retention looks again after it has announced what it deletes, and not before."""
    world = covered_for_a_second()
    leased: list[bytes] = []

    def seek_and_lease() -> None:
        other = another(world)
        other.seek(NAME, time=at(0))
        leased.extend(each.data for each in other.pull(NAME))

    once(monkeypatch, Messages, "announce_discard", seek_and_lease, "before")
    assert "a seek or RESTORE brought them back" in clean_up(world).problems[FLIGHTS]
    assert (leased, world.stored()) == ([b"a"], ["a"])


def test_what_a_slow_consumer_is_about_to_lease_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has read the log before the announcement: so retention does not heed its own."""
    world = covered_for_a_second()
    other = another(world)
    arrived, deleted = threading.Event(), threading.Event()
    swap = MemoryLane.swap

    def waiting(*args: Any) -> bool:
        if threading.current_thread() is not threading.main_thread():
            arrived.set()
            assert deleted.wait(30)
        return swap(*args)

    with ThreadPoolExecutor(1) as threads:
        pulling: list[Future[list[bytes]]] = []

        def begin() -> None:
            other.seek(NAME, time=at(0))
            monkeypatch.setattr(MemoryLane, "swap", waiting)
            pulling.append(threads.submit(lambda: [each.data for each in other.pull(NAME)]))
            assert arrived.wait(30)

        once(monkeypatch, Messages, "announce_discard", begin, "before")
        told = clean_up(world)
        deleted.set()
        assert pulling[0].result(30) == [b"a"]
    assert told.discarded == {}


def test_a_seek_is_carried_out_by_a_log_that_was_read_after_its_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was prefetched before the note was read may lack the announcement."""
    world = covered_for_a_second()
    other = another(world)
    assert not other.pull(NAME)
    table = messages_table(world)
    before = world.driver.world.lane.version(table)
    once(monkeypatch, Messages, "discard_before", lambda: other.seek(NAME, time=at(0)), "before")
    clean_up(world)
    version, stale = MemoryLane.version, [before]

    def prefetched(lane: MemoryLane, asked: str) -> int:
        return stale.pop() if asked == table and stale else version(lane, asked)

    monkeypatch.setattr(MemoryLane, "version", prefetched)
    assert not other.pull(NAME)
    assert not stale


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_announced_and_then_not_deleted_is_brought_back_by_no_seek(
    monkeypatch: pytest.MonkeyPatch, cut: bool
) -> None:
    """A process that dies between announcement and DELETE leaves what nobody needed.

    So also where the log of the topic has forgotten the publish.
    """
    world = covered_for_a_second()

    def die() -> None:
        raise Crashed

    once(monkeypatch, Messages, "discard_before", die, "before")
    with pytest.raises(Crashed):
        clean_up(world)
    assert world.stored() == ["a"]
    if cut:
        world.driver.world.lane.cut_log(messages_table(world))
    other = another(world)
    other.seek(NAME, time=at(0))
    assert not other.pull(NAME)


def test_what_is_published_after_an_announcement_is_brought_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An announcement means what was stored then, whatever the clock of its process told."""
    world = covered_for_a_second()
    store = another(world, 9 * DAY)
    assert store.maintain(exact=True, dead_letters=False, expiration=False).discarded
    world.publish("b")
    world.ack("b")
    world.store.seek(NAME, time=at(0))
    assert [each.data for each in world.pull()] == ["b"]


@pytest.mark.parametrize("cut", [False, True])
def test_what_an_operator_restores_after_a_deletion_is_brought_back(cut: bool) -> None:
    """A process whose clock is a day ahead has deleted what the topic retains: RESTORE helps."""
    world = covered_for_a_second()
    lane, table = world.driver.world.lane, messages_table(world)
    before = lane.version(table)
    ahead = another(world, DAY)
    assert ahead.maintain(exact=True, dead_letters=False, expiration=False).discarded
    lane.restore(table, before)
    if cut:
        lane.cut_log(table)
    other = another(world)
    other.seek(NAME, time=at(0))
    assert [each.data for each in other.pull(NAME)] == [b"a"]


def test_what_an_operator_restores_before_the_deletion_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was announced before a RESTORE is void: a seek may have brought it back meanwhile."""
    world = covered_for_a_second()
    lane, table = world.driver.world.lane, messages_table(world)
    before = lane.version(table)
    other = another(world)
    given: list[bytes] = []

    def restore_and_seek() -> None:
        lane.restore(table, before)
        other.seek(NAME, time=at(0))
        given.extend(each.data for each in other.pull(NAME))

    once(monkeypatch, Messages, "discard_before", restore_and_seek, "before")
    ahead = another(world, DAY)
    told = ahead.maintain(exact=True, dead_letters=False, expiration=False)
    assert given == [b"a"]
    assert world.stored() == ["a"]
    assert "nothing was deleted" in told.problems[FLIGHTS]


def test_what_is_announced_of_a_deleted_topic_ends_now() -> None:
    """An operator may bring the topic back; a seek then leaves out nothing that is published."""
    world = InMemory()
    world.publish("a")
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    world.store.delete_topic(TOPIC)
    world.store.delete_subscription(NAME)
    assert clean_up(world).discarded == {f"{FLIGHTS} (deleted)": 1}
    assert messages.history.commits_after(0).discards_before == at(1)


def test_what_a_slow_publisher_adds_after_the_last_look_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Storages without locks: whoever deletes asks the history once more."""
    world = InMemory()
    world.publish("old")
    world.ack("old")
    world.be_at(MINUTE)
    late = partial(world.publish, "late", late=int(MINUTE))
    once(monkeypatch, Messages, "discard_before", late, "before")
    assert "a slow publisher" in clean_up(world).problems[FLIGHTS]
    assert world.stored() == ["old", "late"]


def test_a_seek_brings_back_what_was_published_at_the_time_that_retention_announces() -> None:
    """It deletes what was published before that time; what a topic retains begins at it."""
    world = InMemory()
    world.store.update_topic(TOPIC, message_retention_duration="10m")
    world.publish("before")
    world.be_at(MINUTE)
    world.publish("at")
    world.ack("before", "at")
    world.be_at(11 * MINUTE - 1)
    assert clean_up(world).discarded == {FLIGHTS: 1}
    world.be_at(11 * MINUTE)
    world.store.seek(NAME, time=at(0))
    assert [each.data for each in world.pull()] == ["at"]


def test_of_several_announcements_a_seek_goes_by_the_latest_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each run of retention announces what it deletes: a seek brings back nothing of any."""
    world = InMemory()
    world.store.update_topic(TOPIC, message_retention_duration="10m")
    world.publish("first")
    world.be_at(MINUTE)
    world.publish("second")
    world.ack("first", "second")
    world.be_at(10 * MINUTE)
    assert clean_up(world).discarded == {FLIGHTS: 1}
    world.be_at(11 * MINUTE)
    other = another(world)
    once(
        monkeypatch, Messages, "discard_before", lambda: seek_and_carry_out(other, world), "before"
    )
    assert clean_up(world).discarded == {FLIGHTS: 1}
    assert world.stored() == []
