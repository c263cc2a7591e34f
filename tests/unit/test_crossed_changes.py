"""Two processes that change the same resources at once: what holds for one call holds for both.

Each test lets the other one act for real between two steps, on tables in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, ExpirationPolicy, ManualClock
from pubsub_delta.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PubSubError,
    Unavailable,
)
from pubsub_delta.operations import administer
from tests.model.memory import LAYOUT
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import HOUR, MINUTE, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.test_races import once

Act = Callable[[], object]
DEAD = DeadLetterPolicy(LETTERS, 5)
GIVES = {
    "create": lambda store: store.create_subscription("second", TOPIC, dead_letter_policy=DEAD),
    "update": lambda store: store.update_subscription(NAME, dead_letter_policy=DEAD),
}
each_way = pytest.mark.parametrize("way", GIVES)


def at_the_write(
    monkeypatch: pytest.MonkeyPatch, table: str, act: Act, when: str = "before"
) -> None:
    """Let another process act once, before or after the next write to a table of the registry."""
    merge, left = MemoryLane.merge, [act]

    def crossed(lane: MemoryLane, of: str, *args: Any) -> int:
        acts = [left.pop()] if left and of == table else []
        if when == "before":
            for each in acts:
                each()
        changed = merge(lane, of, *args)
        if when == "after":
            for each in acts:
                each()
        return changed

    monkeypatch.setattr(MemoryLane, "merge", crossed)


def policies(world: InMemory) -> list[DeadLetterPolicy | None]:
    return [each.dead_letter_policy for each in world.driver.open().list_subscriptions()]


def outcome(act: Act) -> str:
    try:
        act()
    except PubSubError as error:
        return error.code
    return "OK"


@each_way
def test_a_dead_letter_topic_that_is_deleted_first_is_given_to_nobody(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Absent topic → NOT_FOUND, also where it was there when it was looked for."""
    world = InMemory()
    other = world.driver.open()
    at_the_write(monkeypatch, LAYOUT.subscriptions, lambda: other.delete_topic(LETTERS))
    with pytest.raises(NotFound, match="dead_letter_topic: projects/local/topics/letters does not"):
        GIVES[way](world.store)
    assert policies(world) == [None]


@each_way
def test_a_dead_letter_topic_is_not_deleted_that_is_given_at_that_moment(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting a topic that is another subscription's dead-letter topic → FAILED_PRECONDITION."""
    world = InMemory()
    other = world.driver.open()
    at_the_write(monkeypatch, LAYOUT.topics, lambda: GIVES[way](other))
    with pytest.raises(FailedPrecondition, match="is the dead-letter topic of projects/local/"):
        world.store.delete_topic(LETTERS)
    assert len([each for each in policies(world) if each]) == 1
    assert world.store.get_topic(LETTERS)


@each_way
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("table", [LAYOUT.subscriptions, LAYOUT.topics])
def test_no_subscription_names_a_dead_letter_topic_that_is_gone(
    way: str, when: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second is refused, and one of the two succeeds."""
    world = InMemory()
    other, told = world.driver.open(), [""]

    def delete() -> None:
        told[0] = outcome(lambda: other.delete_topic(LETTERS))

    at_the_write(monkeypatch, table, delete, when)
    given = outcome(lambda: GIVES[way](world.store))
    assert (given, *told) in [("OK", "FAILED_PRECONDITION"), ("NOT_FOUND", "OK")]
    assert len([each for each in policies(world) if each]) == (given == "OK")


@each_way
@pytest.mark.parametrize("error", [Unavailable, KeyboardInterrupt, SystemExit])
def test_a_dead_letter_topic_whose_row_cannot_be_written_is_given_to_nobody(
    way: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call ends with an error, or its program ends it: nothing has changed."""
    world = InMemory()

    def fail() -> None:
        raise error("no space is left")

    at_the_write(monkeypatch, LAYOUT.topics, fail)
    with pytest.raises(error):
        GIVES[way](world.store)
    assert policies(world) == [None]
    GIVES[way](world.store)


def test_an_update_that_is_taken_back_undoes_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the named fields change."""
    world = InMemory()
    other = world.driver.open()
    other.create_topic("others")
    theirs = DeadLetterPolicy("others", 7)

    def overtake() -> None:
        other.update_subscription(NAME, dead_letter_policy=theirs)
        other.delete_topic(LETTERS)

    at_the_write(monkeypatch, LAYOUT.subscriptions, overtake, "after")
    with pytest.raises(NotFound):
        world.store.update_subscription(NAME, dead_letter_policy=DEAD, labels={"a": "b"})
    (found,) = policies(world)
    assert found is not None
    assert found.max_delivery_attempts == 7


def test_an_update_that_is_refused_changes_no_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad input gets a clear error; nothing is half written, and nobody's change is undone."""
    world = InMemory()
    other = world.driver.open()
    before = other.get_subscription(NAME)

    def overtake() -> None:
        other.update_subscription(NAME, labels={"by": "another"})
        other.delete_topic(LETTERS)

    at_the_write(monkeypatch, LAYOUT.subscriptions, overtake)
    with pytest.raises(NotFound):
        world.store.update_subscription(
            NAME, dead_letter_policy=DEAD, labels={"a": "b"}, ack_deadline_seconds=77
        )
    found = other.get_subscription(NAME)
    assert found.ack_deadline_seconds == before.ack_deadline_seconds != 77
    assert (found.labels, found.dead_letter_policy) == ({"by": "another"}, None)


def test_a_retention_that_two_turn_on_covers_from_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lengthened from D1 to D2 at R: what was covered at R stays covered (from R − D1)."""
    world = InMemory()
    world.publish("earlier")
    other = world.driver._open(ManualClock(at(1)))  # who reads the time, and is slow then

    def overtake() -> None:
        other.update_topic(TOPIC, message_retention_duration="10m")
        other.publish(TOPIC, ["covered"])

    world.be_at(2)
    at_the_write(monkeypatch, LAYOUT.topics, overtake)
    changed = world.store.update_topic(TOPIC, message_retention_duration="1d")
    assert changed == world.store.get_topic(TOPIC)
    world.ack("earlier", "covered")
    world.be_at(HOUR)
    world.store.seek(NAME, time=at(0))
    assert world.backlog() == {"covered": "available"}


def test_a_retention_that_somebody_clears_meanwhile_covers_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cleared: nothing more is covered by it, and it may have been deleted since."""
    world = InMemory()
    world.store.update_topic(TOPIC, message_retention_duration="10m")
    world.publish("given up")
    world.be_at(1)
    other = world.driver.open()
    clear = partial(other.update_topic, TOPIC, message_retention_duration=None, labels={"a": "b"})
    at_the_write(monkeypatch, LAYOUT.topics, clear)
    changed = world.store.update_topic(TOPIC, message_retention_duration="1d")
    assert changed == world.store.get_topic(TOPIC)
    assert changed.labels == {"a": "b"}
    world.ack("given up")
    world.store.seek(NAME, time=at(0))
    assert world.backlog() == {}


def test_fields_that_depend_on_each_other_are_checked_as_they_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A ttl is longer than the message retention, whoever sets which of the two."""
    world = InMemory(message_retention_duration="10m")
    other = world.driver.open()
    policy = ExpirationPolicy("1d")
    shorten = partial(other.update_subscription, NAME, expiration_policy=policy)
    at_the_write(monkeypatch, LAYOUT.subscriptions, shorten)
    with pytest.raises(InvalidArgument, match="ttl"):
        world.store.update_subscription(NAME, message_retention_duration="2d")
    stored = world.store.get_subscription(NAME)
    assert stored.message_retention_duration.total_seconds() == 10 * MINUTE


@pytest.mark.parametrize(
    ("end", "answer"),
    [("detach_subscription", "OK"), ("delete_subscription", "NOT_FOUND")],
)
def test_a_subscription_that_is_detached_meanwhile_is_changed_as_a_detached_one_is(
    end: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the named fields change; a detached subscription is only refused to consumers."""
    world = InMemory()
    other = world.driver.open()
    once(
        monkeypatch,
        administer,
        "_check_dead_letter_topic",
        partial(getattr(other, end), NAME),
        "before",
    )
    change = partial(world.store.update_subscription, NAME, message_retention_duration="1d")
    assert outcome(change) == answer
    if answer == "OK":
        assert world.store.get_subscription(NAME).message_retention_duration == timedelta(days=1)


@pytest.mark.parametrize(
    ("kind", "name", "fields"),
    [
        ("topic", TOPIC, {"message_retention_duration": "1d"}),
        ("subscription", NAME, {"ack_deadline_seconds": 20}),
        ("snapshot", "before", {"expire_time": at(2 * HOUR)}),
    ],
)
def test_an_update_returns_what_is_stored_with_what_others_have_changed_meanwhile(
    kind: str, name: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gives it back as ``if_unchanged`` would be refused otherwise."""
    world = InMemory()
    world.store.create_snapshot("before", NAME)
    other = world.driver.open()
    theirs = partial(getattr(other, f"update_{kind}"), name, labels={"theirs": "1"})
    at_the_write(monkeypatch, getattr(LAYOUT, f"{kind}s"), theirs)
    changed = getattr(world.store, f"update_{kind}")(name, **fields)
    assert changed.labels == {"theirs": "1"}
    assert changed == getattr(other, f"get_{kind}")(name)


AVRO = '{"type": "record", "name": "Place", "fields": [{"name": "town", "type": "string"}]}'
CREATES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "topic": ("topics", lambda store: store.create_topic("new")),
    "subscription": ("subscriptions", lambda store: store.create_subscription("new", TOPIC)),
    "snapshot": ("snapshots", lambda store: store.create_snapshot("new", NAME)),
    "schema": ("schemas", lambda store: store.create_schema("new", "AVRO", AVRO)),
}


@pytest.mark.parametrize("kind", CREATES)
def test_of_two_who_create_the_same_at_once_one_is_told_that_it_is_there(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Both have looked, and found the name free; the second would use what is not its own."""
    world = InMemory()
    table, create = CREATES[kind]
    other, made = world.driver.open(), list[Any]()
    act = partial(lambda: made.append(create(other)))
    at_the_write(monkeypatch, getattr(LAYOUT, table), act)
    with pytest.raises(AlreadyExists, match="new"):
        create(world.store)
    assert len(made) == 1
    listed: Any = getattr(world.driver.open(), f"list_{table}")()
    assert [each.name.split("/")[-1] for each in listed if each.name.endswith("/new")] == ["new"]
