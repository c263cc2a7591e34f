"""Publishes that would lose something in silence are refused, on tables in memory."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.operations import publish
from pubsub_delta.tables.schemas import TEXT_BY_TEXT
from tests.unit.in_memory import NAME, TOPIC, InMemory


def test_a_version_that_is_not_above_the_last_one_is_refused() -> None:
    """A version ≤ the last one is skipped silently by Delta; its messages would be nowhere."""
    world = InMemory()
    world.store.publish(TOPIC, ["a"], idempotency_id=("app", 5))
    for version in (0, 4):
        with pytest.raises(FailedPrecondition, match=f"version {version} of 'app' is not above"):
            world.store.publish(TOPIC, ["b"], idempotency_id=("app", version))
    world.store.publish(TOPIC, ["b"], idempotency_id=("app", 6))
    assert world.stored() == ["a", "b"]


def test_a_row_with_an_attribute_twice_is_refused() -> None:
    """A map that holds a key twice is refused: one of its values would be lost."""
    world = InMemory()
    rows = pa.table(
        {"attributes": pa.array([[("k", "1")], [("k", "1"), ("k", "2")]], TEXT_BY_TEXT)}
    )
    with pytest.raises(InvalidArgument, match=r"messages\[1\].attributes: a key appears twice"):
        world.store.publish(TOPIC, rows)
    assert world.stored() == []


def test_a_micro_batch_that_nobody_can_get_any_more_is_not_reported_as_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The topic was deleted while the query published to it, and nobody is subscribed to it."""
    world = InMemory()
    topic = world.tables.topic(world.store._topic(TOPIC))
    frame: Any = None

    def land(*_: object) -> bool:
        world.store.delete_subscription(NAME)
        world.store.delete_topic(TOPIC)
        return True

    monkeypatch.setattr(publish, "_publish_frame", land)
    with pytest.raises(NotFound, match="no subscription is left"):
        publish.publish_micro_batch(world.tables, topic, frame, world.now, "query", 7, None)
