"""What others do while a subscription is deleted that has expired, and that somebody uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.delivery.expiration import put_back
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.registry import Registry
from tests.model.memory import LAYOUT
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import DAY
from tests.unit.expiring import FULL_NAME, at_its_deletion, expired, idle_after_a_day
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


def used_as_it_expires(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Let others act while the row of a subscription is away."""
    back = Registry.put_back_subscription

    def later(registry: Registry, row: Any) -> bool:
        meanwhile()
        return back(registry, row)

    monkeypatch.setattr(Registry, "put_back_subscription", later)


def in_use(monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Return a store whose subscription has expired, and is used while it is deleted."""
    store = idle_after_a_day()
    store.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(LETTERS))
    store.be_at(2 * DAY)
    use = partial(store.change, lambda state: replace(state, active_time=store.now))
    at_its_deletion(monkeypatch, use)
    return store


def test_retention_deletes_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec: "Nothing that a live subscription […] may still deliver is ever deleted"."""
    store = in_use(monkeypatch)
    store.publish("b")
    others: list[Any] = []

    def retention() -> None:
        others.append(store.driver.open().maintain(expiration=False, exact=True))

    used_as_it_expires(monkeypatch, retention)
    assert expired(store) == []
    assert [each.problems for each in others] == [{}]
    assert [each.data for each in store.pull()] == ["b"]
    assert store.store.maintain(exact=True).discarded == {f"projects/local/topics/{TOPIC}": 1}


def test_what_held_its_messages_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is in a listing, nor left for the next run to remove."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    assert expired(store) == [FULL_NAME]
    assert store.tables.registry._snapshots.rows() == []
    assert store.store.maintain(exact=True).discarded == {f"projects/local/topics/{TOPIC}": 1}


def test_nothing_is_written_for_one_that_is_not_idle() -> None:
    store = idle_after_a_day()
    assert expired(store) == []
    assert store.tables.registry.snapshots_version() == 0


def test_its_dead_letter_topic_is_told_if_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody named it while the row was away, so that it could be deleted."""
    store = in_use(monkeypatch)
    used_as_it_expires(monkeypatch, lambda: store.driver.open().delete_topic(LETTERS))
    told = store.store.maintain(dead_letters=False, retention=False)
    assert (told.expired, list(told.problems)) == ([], [FULL_NAME])
    assert f"projects/local/topics/{LETTERS} was deleted" in told.problems[FULL_NAME]


def test_a_deletion_of_its_dead_letter_topic_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It found nobody who names the topic while the row was away."""
    store = in_use(monkeypatch)
    uid = store.store.get_subscription(NAME).uid
    taken_out = store.tables.registry.take_out_subscription(uid, lambda _: True)
    assert taken_out is not None
    merge, left = MemoryLane.merge, [taken_out]

    def after(lane: MemoryLane, table: str, *args: Any) -> int:
        if table == LAYOUT.topics and left:
            put_back(store.tables, *left.pop())
        return merge(lane, table, *args)

    monkeypatch.setattr(MemoryLane, "merge", after)
    with pytest.raises(FailedPrecondition, match=f"is the dead-letter topic of {FULL_NAME}"):
        store.driver.open().delete_topic(LETTERS)
