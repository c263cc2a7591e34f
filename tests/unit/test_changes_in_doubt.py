"""Changes that nobody can tell whether they landed, and those that surely did not."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.errors import Unknown
from pubsub_delta.tables.lanes.storage_errors import StorageRefused
from pubsub_delta.tables.registry import Registry
from tests.model.memory_lane import MemoryLane
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


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
