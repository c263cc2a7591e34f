"""What makes messages of the rows of a micro-batch, before it is published."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.operations.publish import publish_micro_batch
from pubsub_delta.streaming import publish_stream
from tests.unit.in_memory import TOPIC, InMemory

ROWS: Any = object()


class Prepared(Exception):
    """The rows of a micro-batch were asked for."""


def prepare(rows: Any, batch_id: int) -> Any:
    assert rows is ROWS
    raise Prepared(batch_id)


def run(world: InMemory, batch_id: int) -> None:
    topic = world.store.get_topic(TOPIC)
    publish_micro_batch(world.tables, topic, ROWS, world.now, "query", batch_id, None, prepare)


def test_rows_are_prepared_unless_their_micro_batch_has_landed() -> None:
    """Else what was set aside before would be there twice after each start of the query."""
    world = InMemory()
    world.store.publish(TOPIC, ["a"], idempotency_id=("query", 0))
    run(world, 0)
    with pytest.raises(Prepared, match="1"):
        run(world, 1)


@pytest.mark.parametrize("wrong", [1, "x"])
def test_what_is_no_function_prepares_nothing(monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    world, clock = InMemory(), None
    monkeypatch.setattr("pubsub_delta.streaming.is_remote", lambda _: False)
    given: Any = (world.tables, world.store._topic(TOPIC), ROWS, "/c", None, None, clock, wrong)
    with pytest.raises(InvalidArgument, match="prepare: "):
        publish_stream(*given)
