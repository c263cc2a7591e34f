"""Updates on condition, held by the MERGE itself: two writers who have read the same."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta import (
    Aborted,
    DeadLetterPolicy,
    ExpirationPolicy,
    NotFound,
    NoWrapper,
    PushConfig,
    RetryPolicy,
)
from pubsub_delta.tables.lanes.protocol import Conflict
from tests.conftest import Bench

URL = "https://example.com/push"
SET: dict[str, Any] = {
    "ack_deadline_seconds": 60,
    "message_retention_duration": "1d",
    "retain_acked_messages": True,
    "expiration_policy": ExpirationPolicy("60d"),
    "retry_policy": RetryPolicy("1.5s", "60s"),
    "labels": {"team": "gates", "env": "prod"},
    "push_config": PushConfig(URL, {}, NoWrapper()),
}
CLEARED: dict[str, Any] = {
    "ack_deadline_seconds": 10,
    "message_retention_duration": "7d",
    "retain_acked_messages": False,
    "expiration_policy": ExpirationPolicy(None),
    "retry_policy": None,
    "dead_letter_policy": None,
    "labels": None,
    "push_config": None,
}
KINDS = ("topic", "subscription", "snapshot")


class Changed:
    """A topic, a subscription and a snapshot of one name, and their rows."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.store = bench.store
        self.name = bench.unused("changed")
        self.store.create_topic(self.name, labels={"b": "2", "a": "1"})
        self.store.create_topic(f"{self.name}-letters")
        self.store.create_subscription(self.name, self.name)
        self.store.create_snapshot(self.name, self.name)

    def read(self, kind: str) -> Any:
        return getattr(self.store, f"get_{kind}")(self.name)

    def update(self, kind: str, **fields: Any) -> Any:
        return getattr(self.store, f"update_{kind}")(self.name, **fields)

    def merge(self, kind: str, seen: Any) -> bool:
        """Set a label where the row is as it was seen, with no look of the operation before."""
        change = getattr(self.store._tables.registry, f"change_{kind}")
        try:
            return bool(change(seen.uid, {"labels": {"by": "merge"}}, seen))
        except Aborted:
            return False

    def commits(self, kind: str) -> int:
        return self.bench.commits(f"delta.`{self.bench.root}/{kind}s`")


@pytest.fixture(scope="module")
def it(bench: Bench) -> Changed:
    return Changed(bench)


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_writers_who_read_the_same_the_second_is_told(it: Changed, kind: str) -> None:
    seen = it.read(kind)
    other = it.bench.another()
    changed = getattr(other, f"update_{kind}")(it.name, if_unchanged=seen, labels={"by": "first"})
    commits = it.commits(kind)
    with pytest.raises(Aborted, match=r"has changed since if_unchanged was read \(labels\)"):
        it.update(kind, if_unchanged=seen, labels={"by": "second"})
    assert it.read(kind) == changed
    # "nothing is written": neither by the call nor by its MERGE alone
    assert it.merge(kind, seen) is False
    assert it.commits(kind) == commits
    assert it.update(kind, if_unchanged=changed, labels={"b": "2", "a": "1"}).labels["a"] == "1"
    assert it.commits(kind) == commits + 1


@pytest.mark.trial
def test_each_field_is_compared_by_the_merge(it: Changed) -> None:
    # a field that the MERGE left out would let the change through
    fields = {**SET, "dead_letter_policy": DeadLetterPolicy(f"{it.name}-letters", 7)}
    full = it.update("subscription", **fields)
    clear = it.update("subscription", **CLEARED)
    for changes, other in ((CLEARED, full), (fields, clear)):
        stored = it.update("subscription", **changes)
        later = stored.update_time + timedelta(microseconds=1)
        for name in fields:
            assert getattr(stored, name) != getattr(other, name)
            seen = replace(stored, **{name: getattr(other, name)})
            assert not it.merge("subscription", seen), f"{name} was not compared"
        for name, value in (("detached", True), ("update_time", later), ("uid", "e" * 32)):
            assert not it.merge("subscription", replace(stored, **{name: value})), name
        assert it.merge("subscription", stored)


@pytest.mark.trial
def test_what_rows_of_topics_and_snapshots_have_is_compared(it: Changed) -> None:
    topic, snapshot = it.read("topic"), it.read("snapshot")
    day = timedelta(days=1)
    assert not it.merge("topic", replace(topic, message_retention_duration=day))
    assert not it.merge("snapshot", replace(snapshot, expire_time=snapshot.expire_time - day))
    kept = it.update("topic", message_retention_duration=day)
    for other in (None, 2 * day):
        assert not it.merge("topic", replace(kept, message_retention_duration=other))
    assert it.merge("topic", kept)
    assert it.merge("snapshot", snapshot)


@pytest.mark.trial
def test_labels_are_compared_as_a_whole_in_any_order(it: Changed) -> None:
    for labels, others in (
        ({"b": "2", "a": "1"}, [{"a": "1"}, {"a": "1", "b": "3"}, {"a": "1", "b": "2", "c": ""}]),
        ({}, [{"a": "1"}, {"": ""}]),
    ):
        stored = it.update("topic", labels=labels)
        for other in others:
            assert not it.merge("topic", replace(stored, labels=other)), other
        assert it.merge("topic", replace(stored, labels=dict(sorted(labels.items()))))


@pytest.mark.trial
def test_what_was_created_anew_is_another_one(bench: Bench) -> None:
    it = Changed(bench)
    seen = it.read("subscription")
    bench.store.delete_subscription(it.name)
    with pytest.raises(NotFound):
        it.update("subscription", if_unchanged=seen, labels={"a": "b"})
    bench.store.create_subscription(it.name, it.name)
    with pytest.raises(Aborted, match="uid"):
        it.update("subscription", if_unchanged=seen, labels={"a": "b"})
    assert it.read("subscription").labels == {}


@pytest.mark.trial
def test_a_deleted_topic_is_not_found_however_it_was_read(bench: Bench) -> None:
    it = Changed(bench)
    seen, reader = it.read("topic"), it.read("subscription")
    bench.store.delete_topic(it.name)
    with pytest.raises(NotFound):
        it.update("topic", if_unchanged=seen, labels={"a": "b"})
    assert not it.merge("topic", seen)
    # what goes with the topic is no change of its subscription
    changed = it.update("subscription", if_unchanged=reader, labels={"a": "b"})
    assert (changed.topic, changed.labels) == ("_deleted-topic_", {"a": "b"})


@pytest.mark.parametrize("same", [False, True])
def test_of_many_who_write_at_once_one_wins(it: Changed, same: bool) -> None:
    # also where all of them write the same
    seen = it.read("subscription")
    stores = [it.bench.another() for _ in range(3)]
    ready = threading.Barrier(len(stores))

    def write(number: int) -> bool:
        labels = {"taken": "yes" if same else f"by-{number}"}
        ready.wait(60)
        try:
            stores[number].update_subscription(it.name, if_unchanged=seen, labels=labels)
        except Aborted:
            return False
        return True

    with ThreadPoolExecutor(len(stores)) as threads:
        won = list(threads.map(write, range(len(stores))))
    assert won.count(True) == 1
    assert it.read("subscription").labels == {"taken": "yes" if same else f"by-{won.index(True)}"}


@pytest.mark.parametrize("followed", [False, True])
def test_a_change_whose_answer_was_lost_is_not_told_as_that_of_another(
    it: Changed, followed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that sends a put again whose answer was lost meets its own commit, as a conflict."""
    seen = it.update("topic", labels={"by": "nobody"})
    lane: Any = it.store._tables.lanes.control
    merge, other = lane.merge, it.bench.another()

    def lost(*args: Any) -> int:
        merge(*args)
        monkeypatch.undo()
        if followed:
            other.update_topic(it.name, labels={"by": "another"})
        raise Conflict("the answer was lost")

    monkeypatch.setattr(lane, "merge", lost)
    assert it.update("topic", if_unchanged=seen, labels={"by": "me"}).labels == {"by": "me"}
    assert it.read("topic").labels == {"by": "another" if followed else "me"}
