"""Publishes that would lose something in silence are refused, on tables in memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.tables.schemas import TEXT_BY_TEXT
from tests.unit.in_memory import TOPIC, InMemory


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
    with pytest.raises(InvalidArgument, match=r"messages\[1\].attributes: a key stands twice"):
        world.store.publish(TOPIC, rows)
    assert world.stored() == []
