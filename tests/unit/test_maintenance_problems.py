"""A run of maintain tells each of its failures, and none of them stops another duty."""

from __future__ import annotations

from itertools import count

import pytest

from pubsub_delta import DeadLetterPolicy, Unavailable
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.messages.messages import Messages
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import DAY
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

FULL_NAME = f"projects/local/topics/{TOPIC}"


def failing(*_: object) -> None:
    raise Unavailable("the storage does not answer")


def test_a_registry_that_cannot_be_vacuumed_stops_no_other_duty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of ``maintain``: a failure is reported, and stops no other."""
    world = InMemory()
    for data in ("a", "b"):
        world.publish(data)
        world.ack(data)
    world.be_at(2 * DAY)
    monkeypatch.setattr(world.tables.registry, "vacuum", failing)
    report = world.store.maintain(vacuum=True, log_retention="6h")
    assert report.problems == {"registry": "Unavailable: the storage does not answer"}
    assert FULL_NAME in report.vacuumed
    assert FULL_NAME in report.forgotten


def test_each_of_several_problems_of_a_resource_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()
    world.publish("a")
    versions = count()
    monkeypatch.setattr(world.tables.registry, "snapshots_version", lambda: next(versions))
    monkeypatch.setattr(Messages, "optimize", failing)
    why = world.store.maintain(optimize=True).problems[FULL_NAME]
    assert why.startswith("Aborted: snapshots were created or deleted")
    assert why.endswith("; Unavailable: the storage does not answer")


def test_files_are_joined_though_another_program_was_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What other files there are is decided anew: Delta lets one of two commits land."""
    world = InMemory()
    tries = count()

    def compact(_: MemoryLane, table: str) -> int:
        if next(tries) == 0:
            raise Conflict(f"{table}: a concurrent transaction deleted the same data")
        return 7

    monkeypatch.setattr(MemoryLane, "compact", compact)
    report = world.store.maintain(optimize=True)
    assert (report.optimized[FULL_NAME], report.problems) == (7, {})


def test_a_run_vacuums_every_table_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    world, vacuumed = InMemory(), set[str]()
    world.store.create_subscription("audit", TOPIC)
    monkeypatch.setattr(MemoryLane, "vacuum", lambda _, table: vacuumed.add(table))
    world.store.maintain(vacuum=True)
    names = {table.rstrip("`").rsplit("/", 1)[-1] for table in vacuumed}
    subscriptions = {each.uid for each in world.store.list_subscriptions()}
    assert len(subscriptions) == 2
    assert names >= {"topics", "subscriptions", world.store.get_topic(TOPIC).uid, *subscriptions}


def test_what_a_storage_says_of_dead_letters_is_told_by_its_first_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A problem is one line of a job's output; the lines of a plan or of a trace are for a log."""
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    world.store.create_subscription("keeper", LETTERS)
    world.publish("poisoned")
    for _ in range(5):
        world.store.pull(NAME).nack()

    def refused(*_: object, **__: object) -> None:
        raise OSError("\nno room is left\n  at line 7\n")

    monkeypatch.setattr(MemoryLane, "append", refused)
    (why,) = world.store.maintain().problems.values()
    assert why.endswith("cannot be written: no room is left")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError("\n\n  no room is left\n  at line 7"), "OSError: no room is left"),
        (OSError("no room is left\nat line 7"), "OSError: no room is left"),
        (KeyError(), "KeyError"),
    ],
)
def test_a_problem_is_the_first_line_that_says_something(
    monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    """Errors of a JVM begin with empty lines now and then."""
    world = InMemory()

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(world.tables.registry, "vacuum", fail)
    assert world.store.maintain(vacuum=True).problems == {"registry": told}
