"""A pulled batch: what is said of it, and what it says where there is no Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pubsub_delta.batches import PulledBatch
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.operations.acknowledge import AckTargets
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import AckResult, Ids
from pubsub_delta.tables.schemas import BATCH
from tests.unit.builders import at

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
    aside: Any = field(default_factory=lambda: SimpleNamespace(positions=Positions()))

    def chosen(self, where: object) -> Positions:
        assert isinstance(where, Column)
        return CHOSEN


class Said:
    """A batch, and what it says to its subscription."""

    def __init__(self, lease: Lease | None, *, with_spark: bool = True) -> None:
        self.words: list[tuple[Any, int | None]] = []
        self.with_spark = with_spark
        self.batch = PulledBatch(cast(Any, lease), self.spark, self.ack, self.modify)

    def spark(self) -> Any:
        if not self.with_spark:
            raise FailedPrecondition("the store has no Spark")
        return SimpleNamespace(createDataFrame=lambda rows: rows)

    def ack(self, ids: Any) -> AckResult:
        self.words.append((ids, None))
        return NONE

    def modify(self, ids: Any, seconds: int) -> AckResult:
        self.words.append((ids, seconds))
        return NONE


def test_a_batch_is_answered_whole_by_ids_or_by_a_condition() -> None:
    said, where = Said(Lease()), cast(Any, Column())
    said.batch.ack()
    said.batch.ack(["a"])
    said.batch.ack(where=where)
    said.batch.nack(where=where)
    said.batch.modify_ack_deadline(60, where=where)
    whole, chosen = AckTargets("uid", {7: WHOLE}), AckTargets("uid", {7: CHOSEN})
    assert said.words == [(whole, None), (["a"], None), (chosen, None), (chosen, 0), (chosen, 60)]


def test_what_was_set_aside_is_not_meant() -> None:
    """Nobody could read it, so nobody has processed it."""
    said, where = Said(Lease(aside=SimpleNamespace(positions=Positions.of([2, 3])))), Column()
    said.batch.ack()
    said.batch.nack(where=cast(Any, where))
    assert said.words == [
        (AckTargets("uid", {7: Positions.of([1])}), None),
        (AckTargets("uid", {7: Positions()}), 0),
    ]


def test_ids_and_a_condition_exclude_each_other() -> None:
    said = Said(Lease())
    with pytest.raises(InvalidArgument, match="one of them is accepted"):
        said.batch.ack(["a"], where=cast(Any, Column()))
    assert said.words == []


def test_a_condition_is_a_column() -> None:
    with pytest.raises(InvalidArgument, match="where: 'data IS NULL' is no Column"):
        Said(Lease()).batch.nack(where=cast(Any, "data IS NULL"))


def test_an_empty_batch_has_no_rows_and_nothing_to_answer() -> None:
    said = Said(None)
    assert said.batch.df == said.batch.arrow() == BATCH.empty_table()
    said.batch.ack(where=cast(Any, Column()))
    said.batch.nack()
    assert said.words == [(AckTargets("", {}), None), (AckTargets("", {}), 0)]


@pytest.mark.parametrize("lease", [None, Lease()])
def test_without_spark_the_rows_are_had_as_an_arrow_table(lease: Lease | None) -> None:
    with pytest.raises(FailedPrecondition, match=r"^df: the store has no Spark; arrow\(\) gives"):
        Said(lease, with_spark=False).batch.df  # noqa: B018
