"""Which of two writes comes first: what is left by a process that ends between them is harmless."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.errors import NotFound
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.messages.position_allocator import PositionAllocator
from tests.unit.in_memory import NAME, TOPIC, InMemory


def fail(*_: Any, **__: Any) -> Any:
    raise ConnectionError("the process ends here")


def test_a_topic_exists_once_its_table_does(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()
    monkeypatch.setattr(Messages, "create", fail)
    with pytest.raises(ConnectionError):
        world.store.create_topic("second")
    with pytest.raises(NotFound):
        world.store.get_topic("second")


def test_the_table_of_messages_exists_once_that_of_positions_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table of messages that is there can be published to."""
    messages = InMemory().tables.messages("f" * 32)
    with monkeypatch.context() as patched:
        patched.setattr(PositionAllocator, "create", fail)
        with pytest.raises(ConnectionError):
            messages.create()
    assert not messages.exists()
    messages.create()
    assert messages.exists()


def test_a_subscription_exists_once_its_ack_state_does(monkeypatch: pytest.MonkeyPatch) -> None:
    world = InMemory()
    monkeypatch.setattr(world.tables.ack_states, "create", fail)
    with pytest.raises(ConnectionError):
        world.store.create_subscription("second", TOPIC)
    with pytest.raises(NotFound):
        world.store.get_subscription("second")


def test_a_snapshot_whose_table_is_still_there_is_found_by_maintenance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    snapshot = world.store.create_snapshot("before", NAME)
    with monkeypatch.context() as patched:
        patched.setattr(world.tables.registry._snapshot_tables, "drop", fail)
        with pytest.raises(ConnectionError):
            world.tables.registry.remove_snapshot(snapshot.uid)
    later = world.now + timedelta(days=1)
    assert len(world.tables.registry.abandoned_snapshots(later)) == 1
    assert not world.tables.registry.remove_snapshot(snapshot.uid), "nobody sees it any more"
    assert world.tables.registry.abandoned_snapshots(later) == []


def test_a_dead_letter_topic_that_is_absent_is_refused_before_anything_is_written() -> None:
    world = InMemory()
    before, revision = world.store.get_subscription(NAME), world.revision()
    world.be_at(5)
    with pytest.raises(NotFound):
        world.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy("absent"))
    assert world.store.get_subscription(NAME) == before
    assert world.revision() == revision
