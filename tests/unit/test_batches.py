"""A pulled batch: what is said of it, and what it says where there is no Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pubsub_delta.batches import PulledBatch
from pubsub_delta.clock import ManualClock
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.ids import Ids
from pubsub_delta.names import ResourceName
from pubsub_delta.operations import acknowledge
from pubsub_delta.operations.acknowledge import AckTargets
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import AckResult, DeadLetterPolicy, RetryPolicy
from pubsub_delta.tables.schemas import BATCH
from tests.unit.builders import START, at
from tests.unit.in_memory import LETTERS, TOPIC, InMemory
from tests.unit.in_memory import NAME as NAME_OF_FIRST

WHOLE, CHOSEN = Positions.of([1, 2, 3]), Positions.of([2])
NONE = AckResult(Ids.of(()), Ids.of(()), Ids.of(()))


class Column:
    """What a condition is to a batch, which knows it by the name of its class."""


@dataclass
class Lease:
    lease_id: int = 7
    positions: Positions = WHOLE
    source: Any = field(default_factory=lambda: SimpleNamespace(uid="uid"))
    until: datetime = field(default_factory=lambda: at(10))
    df: str = "the rows"
    set_aside: Any = field(default_factory=lambda: SimpleNamespace(positions=Positions()))

    def chosen(self, where: object) -> Positions:
        assert isinstance(where, Column)
        return CHOSEN


class NoSpark:
    """Tables without Spark."""

    @property
    def spark(self) -> Any:
        raise FailedPrecondition("the store has no Spark")


class WithSpark:
    """Tables with what a batch asks of Spark."""

    spark = SimpleNamespace(createDataFrame=lambda rows, schema: rows)


NAME = ResourceName("local", "subscriptions", "first")
Acks = list[tuple[Any, "int | None"]]
"""What was asked of the operations: the ids, and the new deadline of those that get one."""


@pytest.fixture(autouse=True)
def acks(monkeypatch: pytest.MonkeyPatch) -> Acks:
    asked: Acks = []

    def ack(_: Any, name: ResourceName, ids: Any, now: datetime) -> AckResult:
        assert (name, now) == (NAME, START)
        asked.append((ids, None))
        return NONE

    def modify(
        _: Any, name: ResourceName, ids: Any, seconds: int, clock: Callable[[], datetime]
    ) -> AckResult:
        assert (name, clock()) == (NAME, START)
        asked.append((ids, seconds))
        return NONE

    monkeypatch.setattr(acknowledge, "acknowledge", ack)
    monkeypatch.setattr(acknowledge, "modify_ack_deadline", modify)
    return asked


def batch_of(lease: Lease | None, *, with_spark: bool = True) -> PulledBatch:
    tables = WithSpark() if with_spark else NoSpark()
    return PulledBatch(cast(Any, tables), NAME, cast(Any, lease), ManualClock(START))


def test_a_batch_is_answered_whole_by_ids_or_by_a_condition(acks: Acks) -> None:
    batch, where = batch_of(Lease()), cast(Any, Column())
    batch.ack()
    batch.ack(["a"])
    batch.ack(where=where)
    batch.nack(where=where)
    batch.modify_ack_deadline(60, where=where)
    whole, chosen = AckTargets("uid", {7: WHOLE}), AckTargets("uid", {7: CHOSEN})
    assert acks == [(whole, None), (["a"], None), (chosen, None), (chosen, 0), (chosen, 60)]


def test_what_was_set_aside_is_not_meant(acks: Acks) -> None:
    """Nobody could read it, so nobody has processed it."""
    batch, where = (
        batch_of(Lease(set_aside=SimpleNamespace(positions=Positions.of([2, 3])))),
        Column(),
    )
    batch.ack()
    batch.nack(where=cast(Any, where))
    assert acks == [
        (AckTargets("uid", {7: Positions.of([1])}), None),
        (AckTargets("uid", {7: Positions()}), 0),
    ]


def test_ids_and_a_condition_exclude_each_other(acks: Acks) -> None:
    with pytest.raises(InvalidArgument, match="one of them is accepted"):
        batch_of(Lease()).ack(["a"], where=cast(Any, Column()))
    assert acks == []


def test_a_condition_is_a_column() -> None:
    with pytest.raises(InvalidArgument, match="where: 'data IS NULL' is not a Column"):
        batch_of(Lease()).nack(where=cast(Any, "data IS NULL"))


def test_an_empty_batch_has_no_rows_and_nothing_to_answer(acks: Acks) -> None:
    batch = batch_of(None)
    assert batch.df == batch.arrow() == BATCH.empty_table()
    batch.ack(where=cast(Any, Column()))
    batch.nack()
    assert acks == [(AckTargets("", {}), None), (AckTargets("", {}), 0)]


@pytest.mark.parametrize("lease", [None, Lease()])
def test_without_spark_the_rows_are_had_as_an_arrow_table(lease: Lease | None) -> None:
    with pytest.raises(FailedPrecondition, match=r"^df: the store has no Spark; arrow\(\) gives"):
        batch_of(lease, with_spark=False).df  # noqa: B018


def test_a_batch_that_is_given_back_was_never_delivered() -> None:
    """ "As if it had never been delivered": no failure, no backoff, and no attempt."""
    world = InMemory(
        retry_policy=RetryPolicy("600s", "600s"), dead_letter_policy=DeadLetterPolicy(LETTERS, 5)
    )
    world.publish("a", "b")
    for _ in range(6):
        batch = world.store.pull(NAME_OF_FIRST)
        assert [each.delivery_attempt for each in batch] == [1, 1]
        batch.give_back()
    assert world.backlog() == {"a": "available", "b": "available"}
    assert world.store.pull(NAME_OF_FIRST, 1).message_count == 1
    batch.give_back()
    assert world.backlog() == {"a": "leased", "b": "available"}, "it is another lease"


def test_a_batch_of_a_deleted_subscription_gives_back_nothing_of_a_later_one() -> None:
    world = InMemory()
    world.store.pull(NAME_OF_FIRST).give_back()  # nothing
    world.store.update_topic(TOPIC, message_retention_duration="1d")
    world.publish("a")
    batch = world.store.pull(NAME_OF_FIRST)
    world.store.delete_subscription(NAME_OF_FIRST)
    world.store.create_subscription(NAME_OF_FIRST, TOPIC)
    world.store.seek(NAME_OF_FIRST, time=START)
    assert world.store.pull(NAME_OF_FIRST).message_count == 1  # under a lease of the same number
    batch.give_back()
    assert world.backlog() == {"a": "leased"}
