"""What another process does between two steps of a call: nothing is promised that is gone.

Each test lets the other one act for real, at the worst moment, on tables in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, MaintenanceReport, ManualClock
from pubsub_delta.errors import DeadLetterWarning, NotFound
from pubsub_delta.tables.ack_state import AckStates
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.registry import Registry
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import DAY, MINUTE, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

TAKEN = "before"
FLIGHTS = f"projects/local/topics/{TOPIC}"


def once(
    monkeypatch: pytest.MonkeyPatch, of: object, method: str, act: Callable[[], object], when: str
) -> None:
    """Let others act once, before or after the next call of a method by anybody."""
    real, left = getattr(of, method), [act]

    def crossed(*args: Any, **named: Any) -> Any:
        acts = [left.pop()] if left else []
        if when == "before":
            for each in acts:
                each()
        found = real(*args, **named)
        if when == "after":
            for each in acts:
                each()
        return found

    monkeypatch.setattr(of, method, crossed)


def between_look_and_deletion(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let others act once the retention job has found messages to delete."""
    count, left = Messages.count_before, [act]

    def crossed(messages: Messages, time: datetime) -> int:
        found = count(messages, time)
        if found and left:
            left.pop()()
        return found

    monkeypatch.setattr(Messages, "count_before", crossed)


def another(world: InMemory, seconds: float = 0) -> Any:
    """Return the store as another process opens it, whose clock is so many seconds ahead."""
    clock = ManualClock(world.now)
    clock.advance(seconds)
    return world.driver._open(clock)


def clean_up(world: InMemory) -> MaintenanceReport:
    """Delete what nobody can get any more, a second later."""
    other = another(world, 1)
    told: MaintenanceReport = other.maintain(exact=True, dead_letters=False, expiration=False)
    return told


def catch_up(world: InMemory) -> None:
    """Carry out what was sought, as any look does."""
    other = another(world)
    assert other.pull(NAME, 1).message_count <= 1


def lose(world: InMemory) -> None:
    """Delete the snapshot, and what only it held."""
    another(world).delete_snapshot(TAKEN)
    told = clean_up(world)
    assert told.problems == {}
    assert told.discarded == {FLIGHTS: 2}


def sought() -> InMemory:
    """Return a store whose snapshot holds two messages that are acknowledged."""
    world = InMemory()
    world.publish("a", "b")
    world.store.create_snapshot(TAKEN, NAME)
    world.ack("a", "b")
    world.be_at(MINUTE)
    return world


def test_a_seek_is_not_found_whose_snapshot_is_deleted_before_it_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Absent → NOT_FOUND. The messages may be gone: no backlog is left of them."""
    world = sought()
    world.publish("c")
    once(monkeypatch, Registry, "captured", lambda: lose(world), "after")
    with pytest.raises(
        NotFound, match=r"snapshots/before was deleted meanwhile; .* has the backlog"
    ):
        world.store.seek(NAME, snapshot=TAKEN)
    assert world.stored() == ["c"]
    assert world.backlog() == {"c": "available"}
    assert [each.data for each in world.pull()] == ["c"]


def test_a_seek_that_was_carried_out_meanwhile_keeps_what_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing stays in the backlog that can be neither delivered nor acknowledged."""
    world = sought()
    world.publish("c")
    once(monkeypatch, Registry, "captured", lambda: lose(world), "after")
    once(monkeypatch, AckStates, "change", lambda: catch_up(world), "after")
    with pytest.raises(
        NotFound, match="was deleted meanwhile, and 2 messages that it held are gone"
    ):
        world.store.seek(NAME, snapshot=TAKEN)
    world.driver.clock.advance(MINUTE)  # the lease of whoever has looked is over
    assert world.backlog() == {"c": "available"}
    assert [each.data for each in world.pull()] == ["c"]


@pytest.mark.parametrize("noted", ["between the looks of retention", "after the last one"])
def test_a_seek_is_not_undone_whose_messages_are_all_there(
    monkeypatch: pytest.MonkeyPatch, noted: str
) -> None:
    """Who deletes messages looks again: it is a seek, and then a deletion.

    After the last look the seek is told of what retention is about to delete.
    """
    world = sought()
    told: list[MaintenanceReport] = []
    has_read, goes_on = threading.Event(), threading.Event()

    def wait() -> None:
        has_read.set()
        assert goes_on.wait(20)

    with ThreadPoolExecutor() as threads:
        once(monkeypatch, Registry, "captured", wait, "after")
        seeking = threads.submit(world.store.seek, NAME, snapshot=TAKEN)
        assert has_read.wait(20)
        another(world).delete_snapshot(TAKEN)

        def note_it() -> None:
            goes_on.set()
            seeking.exception(20)

        once(monkeypatch, AckStates, "change", lambda: catch_up(world), "after")
        if noted == "after the last one":
            once(monkeypatch, Messages, "discard_before", note_it, "before")
            assert clean_up(world).discarded == {FLIGHTS: 2}
            with pytest.raises(NotFound, match="2 messages that it held are gone"):
                seeking.result()
            return
        between_look_and_deletion(monkeypatch, note_it)
        told.append(clean_up(world))
        seeking.result()
    assert (
        "or a seek or RESTORE brought them back; nothing was deleted" in told[0].problems[FLIGHTS]
    )
    assert told[0].discarded == {}
    assert sorted(world.backlog()) == ["a", "b"]
    assert world.stored() == ["a", "b"]


@pytest.mark.parametrize("left", [7 * DAY - MINUTE, 30 * MINUTE, 0.001])
def test_a_seek_is_not_found_whose_snapshot_is_about_to_expire(
    monkeypatch: pytest.MonkeyPatch, left: float
) -> None:
    """Less than 1 h left is too little to seek to one, however it came to that."""
    world = sought()

    def shorten() -> None:
        another(world).update_snapshot(TAKEN, expire_time=at(MINUTE + left))

    once(monkeypatch, Registry, "captured", shorten, "after")
    if left > 60 * MINUTE:
        world.store.seek(NAME, snapshot=TAKEN)
        assert sorted(world.backlog()) == ["a", "b"]
        return
    with pytest.raises(NotFound):
        world.store.seek(NAME, snapshot=TAKEN)
    assert world.backlog() == {}


@pytest.mark.parametrize(
    ("when", "step", "held"),
    [
        ("before", "announce_snapshot", ["later"]),
        ("after", "announce_snapshot", ["later"]),
        ("before", "capture_snapshot", ["a", "b", "later"]),
        ("after", "capture_snapshot", ["a", "b", "later"]),
        ("before", "finish_snapshot", ["a", "b", "later"]),
        ("after", "finish_snapshot", ["a", "b", "later"]),
    ],
)
def test_what_a_snapshot_holds_is_there_whatever_others_do_while_it_is_taken(
    monkeypatch: pytest.MonkeyPatch, when: str, step: str, held: list[str]
) -> None:
    """It is announced first, so that nothing of its topic is deleted meanwhile."""
    world = InMemory()
    world.publish("a", "b")
    world.be_at(MINUTE)
    reports: list[MaintenanceReport] = []

    def acknowledge_and_delete() -> None:
        other = another(world)
        other.acknowledge(NAME, [each.ack_id for each in other.pull(NAME)])
        reports.append(clean_up(world))

    once(monkeypatch, Registry, step, acknowledge_and_delete, when)
    world.store.create_snapshot(TAKEN, NAME)
    assert len(reports) == 1
    clean_up(world)
    world.publish("later")
    world.store.seek(NAME, snapshot=TAKEN)
    assert sorted(world.backlog()) == held
    assert sorted(each.data for each in world.pull()) == held


def delete_topic(world: InMemory) -> None:
    another(world).delete_topic(TOPIC)


def delete_both(world: InMemory) -> None:
    another(world).delete_subscription(NAME)
    delete_topic(world)


def detach_and_delete(world: InMemory) -> None:
    another(world).detach_subscription(NAME)
    delete_topic(world)


def delete_and_create_anew(world: InMemory) -> None:
    delete_both(world)
    other = another(world)
    other.create_topic(TOPIC)
    other.create_subscription(NAME, TOPIC)


@pytest.mark.parametrize("act", [delete_both, detach_and_delete, delete_and_create_anew])
def test_a_publish_that_nobody_can_get_is_not_found(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[InMemory], None]
) -> None:
    """Publishing to an absent topic → NOT_FOUND, also where it was there when it was looked for."""
    world = InMemory()
    once(monkeypatch, MemoryLane, "append", lambda: act(world), "before")
    with pytest.raises(
        NotFound, match="flights was deleted meanwhile, and no subscription is left"
    ):
        world.store.publish(TOPIC, ["a"])
    if act is delete_and_create_anew:
        assert world.backlog() == {}
        world.store.publish(TOPIC, ["a"])
        assert world.backlog() == {"a": "available"}


def test_a_publish_that_the_subscriptions_of_a_deleted_topic_get_is_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its subscriptions survive and keep their backlog: that one came just before."""
    world = InMemory()
    once(monkeypatch, MemoryLane, "append", lambda: delete_topic(world), "before")
    assert len(world.store.publish(TOPIC, ["a"]).message_ids) == 1
    clean_up(world)
    assert [each.data for each in world.pull()] == ["a"]
    with pytest.raises(NotFound, match="does not exist"):
        world.store.publish(TOPIC, ["b"])


def test_a_publisher_tells_that_nobody_can_get_its_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where messages are given one by one, each with a future of its own."""
    world = InMemory()
    once(monkeypatch, MemoryLane, "append", lambda: delete_both(world), "before")
    with world.store.publisher(TOPIC) as publisher:
        future = publisher.publish("a")
    with pytest.raises(NotFound, match="was deleted meanwhile"):
        future.result(20)


@pytest.mark.parametrize("letters_are_kept", [True, False])
def test_a_dead_letter_whose_topic_is_deleted_meanwhile_stays(
    monkeypatch: pytest.MonkeyPatch, letters_are_kept: bool
) -> None:
    """If the dead-letter topic is gone, nothing is forwarded or lost: it stays on the source."""
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    if letters_are_kept:
        world.store.create_subscription("undelivered", LETTERS)
    world.publish("a")
    for _ in range(5):
        world.store.modify_ack_deadline(NAME, [each.ack_id for each in world.pull()], 0)

    def lose_letters() -> None:
        other = another(world)
        other.update_subscription(NAME, dead_letter_policy=None)
        other.delete_topic(LETTERS)

    once(monkeypatch, MemoryLane, "append", lose_letters, "before")
    if letters_are_kept:
        world.pull()
        assert world.backlog() == {}
        assert [each.data for each in world.pull(name="undelivered")] == ["a"]
        return
    with pytest.warns(DeadLetterWarning, match="does not exist any more"):
        world.pull()
    assert world.backlog() == {"a": "available"}
