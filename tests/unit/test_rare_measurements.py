"""Measurements and answers that are seldom asked for, and errors that are seldom told."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.errors import InvalidArgument, Unknown
from pubsub_delta.operations import metrics
from pubsub_delta.tables.lanes.storage_errors import StorageRefused
from pubsub_delta.tables.messages import sizes
from pubsub_delta.tables.messages.sizes import Sizes
from pubsub_delta.tables.registry import Registry
from tests.model.memory_lane import MemoryLane
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


def test_all_of_a_store_is_measured_with_what_is_left_of_a_deleted_topic() -> None:
    """Metrics of every topic, subscription and snapshot; `_deleted-topic_` labels what it had."""
    world = InMemory()
    world.publish("a")
    world.store.create_snapshot("before", NAME)
    world.store.delete_topic(TOPIC)
    rows = metrics.rows(world.tables, None, "local", world.now, exact=False)
    measured = {(each.kind, each.name): each for each in rows}
    names = [(kind, name.rpartition("/")[2]) for kind, name in measured]
    assert names == [("topic", LETTERS), ("subscription", NAME), ("snapshot", "before")]
    found = {each.kind: dict(each.labels) for each in rows if each.kind != "topic"}
    assert {labels["topic"] for labels in found.values()} == {"_deleted-topic_"}


def test_a_name_of_another_collection_has_no_metrics() -> None:
    world = InMemory()
    with pytest.raises(InvalidArgument, match="projects/p/schemas/any"):
        metrics.rows(world.tables, ["projects/p/schemas/any"], "local", world.now, exact=False)


def test_without_a_publish_to_sample_the_bytes_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A topic may have no publish among its last commits: zero bytes would be a wrong figure."""
    monkeypatch.setattr(sizes, "QUICK_MESSAGES", 0)
    monkeypatch.setattr(sizes, "SAMPLED_COMMITS", 0)
    world = InMemory()
    world.publish("abc", "de")
    stored = Sizes(world.tables.messages(world.store.get_topic(TOPIC).uid)).stored
    assert (stored.value, stored.is_estimate) == (5, False)


def test_a_publish_that_the_storage_refuses_is_not_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "`Unknown`: it was sent, and nobody can tell whether it landed": what is refused has not."""

    def refused(*_: Any, **__: Any) -> Any:
        raise StorageRefused("its keys have expired")

    world = InMemory()
    world.publish("a")
    with monkeypatch.context() as patched:
        patched.setattr(MemoryLane, "append", refused)

        def refuse_all(*_: Any, **__: Any) -> Any:
            patched.setattr(MemoryLane, "history", refused)
            patched.setattr(MemoryLane, "version", refused)
            return refused()

        patched.setattr(MemoryLane, "append", refuse_all)
        with pytest.raises(StorageRefused, match="its keys have expired"):
            world.store.publish(TOPIC, ["b"])
    assert world.stored() == ["a"]


def test_a_policy_that_can_neither_be_protected_nor_taken_back_is_told_as_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The subscription has it by now, and its topic may be gone: an error must not deny that."""

    def lost(*_: Any, **__: Any) -> Any:
        raise ConnectionError("no answer")

    world = InMemory()

    def away(*_: Any, **__: Any) -> Any:
        for method in ("merge", "delete"):
            monkeypatch.setattr(MemoryLane, method, lost)
        return lost()

    with monkeypatch.context() as patched:
        patched.setattr(Registry, "change_topic", away)
        with pytest.raises(Unknown, match="it is stored, and could not be taken back"):
            world.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    assert world.driver.open().get_subscription(NAME).dead_letter_policy is not None
