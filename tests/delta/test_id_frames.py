"""Ack ids in DataFrames: those that a lease would write itself are not written and read again.

"Where Spark's own optimizer proves that the ids of a DataFrame are what this lease would write, the
positions are folded as they are": and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import SystemRandom

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pubsub_delta import Message, PulledBatch
from pubsub_delta.operations import acknowledge
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.id_frames import _own_positions, fold_ids
from tests.conftest import Bench

Choose = Callable[[DataFrame], DataFrame]

EVEN = "CAST(message_id AS BIGINT) % 2 = 0"


def asked(column: str, ask: Callable[[bytes], bool]) -> Column:
    """Ask a Python function about each row."""
    return F.udf(ask, "boolean")(column)


CHOICES: dict[str, Choose] = {
    "everything": lambda df: df,
    "ids": lambda df: df.select("ack_id"),
    "by message id": lambda df: df.where(EVEN).select("ack_id"),
    "by attribute": lambda df: df.where("attributes['k'] = '1'").select("ack_id"),
    "by function": lambda df: df.where(asked("data", lambda data: len(data) < 2)).select("ack_id"),
    "by ack id": lambda df: df.select("ack_id").where("length(ack_id) % 2 = 0"),
    "none": lambda df: df.where("data = X'00'").select("ack_id"),
}

OTHERS: dict[str, Choose] = {
    "first ones": lambda df: df.select("ack_id").limit(3),
    "twice": lambda df: df.select("ack_id").union(df.select("ack_id")),
    "grouped": lambda df: df.groupBy("ack_id").count().select("ack_id"),
    "joined": lambda df: df.join(df.select("message_id").limit(2), "message_id").select("ack_id"),
    "altered": lambda df: df.select(F.concat("ack_id", F.lit("0")).alias("ack_id")),
    "of other rows": lambda df: df.select(F.expr("lag(ack_id) OVER (ORDER BY message_id) ack_id")),
    "kept apart": lambda df: df.where(EVEN).select("ack_id").localCheckpoint(),
    "collected": lambda df: df.sparkSession.createDataFrame(df.select("ack_id").collect()),
}


@pytest.fixture(scope="module")
def batch(bench: Bench) -> PulledBatch:
    """A batch of messages that were published in two commits, as its second lease."""
    topic, subscription = bench.pair()
    for texts in ("abcdef", ["ghij", "k", "lm"]):
        bench.store.publish(topic, [Message(t.encode(), {"k": f"{len(t)}"}) for t in texts])
    bench.store.pull(subscription).nack()
    return bench.store.pull(subscription)


def named_by(ids: DataFrame) -> dict[int, Positions]:
    """Read ack ids by Python."""
    found: dict[int, list[int]] = {}
    for row in ids.select("ack_id").collect():
        if (ack_id := parse_ack_id(row.ack_id)) is not None:
            found.setdefault(ack_id.lease_id, []).append(ack_id.position)
    return {lease_id: Positions.of(each) for lease_id, each in found.items()}


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_ids_of_rows_chosen_from_a_batch_are_neither_written_nor_read(
    batch: PulledBatch, choose: Choose
) -> None:
    ids, uid = choose(batch.df), uid_of(batch)
    assert _own_positions(ids.select("ack_id"), uid) is not None
    assert fold_ids(ids, uid, many=True) == (named_by(ids), [])


@pytest.mark.parametrize("choose", OTHERS.values(), ids=OTHERS)
def test_ids_that_may_be_anything_are_read(batch: PulledBatch, choose: Choose) -> None:
    ids, uid = choose(batch.df), uid_of(batch)
    assert _own_positions(ids.select("ack_id"), uid) is None
    assert fold_ids(ids, uid, many=True)[0] == named_by(ids)


def test_ids_of_another_lease_subscription_or_table_are_never_taken_for_the_leases(
    bench: Bench, batch: PulledBatch, tmp_path: Path
) -> None:
    ids = batch.df.where(EVEN).select("ack_id")
    assert _own_positions(ids, "0" * 32) is None
    ids.write.option("delta.enableRowTracking", "true").format("delta").save(f"{tmp_path}/ids")
    kept = bench.spark.read.format("delta").load(f"{tmp_path}/ids")
    # It has row ids of its own, and its plan may speak of a lease.
    wanted = kept.where(F.col("ack_id") != F.concat(F.lit(f"{uid_of(batch)}.2."), kept.ack_id))
    for frame in (kept, wanted):
        assert _own_positions(frame, uid_of(batch)) is None
        assert fold_ids(frame, uid_of(batch), many=True) == (named_by(ids), [])


def test_cached_ids_are_those_that_are_acknowledged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that says something else each time must not be asked again."""
    monkeypatch.setattr(acknowledge, "MANY", 1)
    topic, subscription = bench.pair()
    bench.store.publish(topic, [f"{n}" for n in range(40)])
    batch = bench.store.pull(subscription)
    drawn = batch.df.where(asked("data", lambda _: SystemRandom().random() < 0.5))
    for ids in (drawn.select("ack_id").cache(), drawn.cache().select("ack_id")):
        chosen = sorted(row.ack_id for row in ids.collect())
        assert sorted(batch.modify_ack_deadline(60, ids).success) == chosen
    bench.spark.catalog.clearCache()


@pytest.mark.trial
def test_ids_of_a_large_lease_are_taken_from_its_rows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def fold_and_tell(ids: DataFrame, uid: str, *, many: bool) -> object:
        told.append(many)
        return fold_ids(ids, uid, many=many)

    monkeypatch.setattr(acknowledge, "fold_ids", fold_and_tell)
    monkeypatch.setattr(acknowledge, "MANY", 10)
    topic, subscription = bench.pair(ack_deadline_seconds=10)
    bench.store.publish(topic, [f"{n}" for n in range(10)])
    batch = bench.store.pull(subscription)
    half = batch.df.where(EVEN).select("ack_id")
    assert sorted(batch.ack(half).success) == sorted(row.ack_id for row in half.collect())
    assert bench.another().acknowledge(subscription, batch.df).counts["success"] == 10
    assert told == [True, False]
    bench.store.publish(topic, [f"{n}" for n in range(10)])
    late = bench.store.pull(subscription)
    bench.clock.advance(10)
    again = bench.store.pull(subscription)
    assert bench.another().acknowledge(subscription, late.df).counts["expired"] == 10
    assert late.ack(late.df).counts == {"success": 0, "expired": 10, "invalid": 0}
    assert again.ack(again.df).counts["success"] == 10
    assert told == [True, False, True, True, True]


def uid_of(batch: PulledBatch) -> str:
    assert batch._lease is not None
    return batch._lease.source.uid
