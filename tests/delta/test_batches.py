"""Pulled batches: rows chosen by a condition, the two forms of rows, handles of what is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import functions as F

from pubsub_delta import (
    AckResult,
    DeadLetterPolicy,
    InvalidArgument,
    Message,
    PubSubError,
    PulledBatch,
)
from tests.conftest import Bench, by_id, states

FLIGHTS = [Message(b"%d" % n, {"n": f"{n % 3}"}, ("UA", "DL")[n % 2]) for n in range(12)]


def test_rows_are_acknowledged_by_a_condition(bench: Bench) -> None:
    # "batch.ack(where=Column) and nack(where=), folded from the lease's own rows"
    topic, subscription = bench.pair()
    bench.store.publish(topic, FLIGHTS)
    batch = bench.store.pull(subscription)
    acked = batch.ack(where=F.col("ordering_key") == "UA")
    assert list(acked.success) == [m.ack_id for m in batch if m.ordering_key == "UA"]
    assert batch.ack(where=F.col("ordering_key") == "UA").counts["success"] == 6  # idempotent
    nacked = batch.nack(where=F.col("attributes")["n"] == "1")
    assert nacked.counts == {"success": 2, "expired": 2, "invalid": 0}  # 1 and 7; 4, 10 are acked
    assert [m.data for m in bench.store.pull(subscription)] == [b"1", b"7"]
    moved = batch.modify_ack_deadline(600, where=F.col("data") == F.lit(b"3"))
    assert moved.counts["success"] == 1
    bench.clock.advance(10)
    left = {message.data: "available" for message in FLIGHTS if message.ordering_key == "DL"}
    assert states(bench, subscription) == {**left, b"3": "leased"}


def test_a_condition_may_be_over_every_column_of_a_batch(bench: Bench) -> None:
    topic = bench.topic()
    subscription = bench.subscription(topic, dead_letter_policy=DeadLetterPolicy(bench.topic()))
    bench.store.publish(topic, FLIGHTS)
    batch = bench.store.pull(subscription)
    first, second = list(batch)[:2]
    for where, count in (
        (F.col("message_id") == first.message_id, 1),
        (F.col("ack_id") == second.ack_id, 1),
        (F.col("delivery_attempt") == 1, 12),
        (F.col("publish_time") == F.lit(first.publish_time), 12),
    ):
        assert batch.modify_ack_deadline(60, where=where).counts["success"] == count


def test_a_condition_that_no_row_meets_writes_nothing(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, FLIGHTS)
    batch = bench.store.pull(subscription)
    commits = bench.commits(bench.ack_state_table(subscription))
    for answer in (batch.ack, batch.nack):
        result = answer(where=F.col("ordering_key") == "AA")
        assert result.counts == {"success": 0, "expired": 0, "invalid": 0}
    assert bench.commits(bench.ack_state_table(subscription)) == commits
    empty = bench.store.pull(subscription)
    assert empty.ack(where=F.lit(True)).counts["success"] == 0


def test_a_condition_stands_alone_and_is_a_column(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    batch = bench.store.pull(subscription)
    ids = [message.ack_id for message in batch]
    for answer in (batch.ack, batch.nack):
        with pytest.raises(InvalidArgument, match="ids, where: both are given"):
            answer(ids, where=F.lit(True))
        with pytest.raises(InvalidArgument, match="is not a Column"):
            answer(where="data = 'a'")  # type: ignore[arg-type]
    assert batch.ack().counts["success"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda _: F.col("nonsense") == "a",
        lambda _: F.col("data"),
        lambda batch: batch.df.ordering_key == "a",  # a column of another DataFrame, for Spark
    ],
    ids=["no column", "no condition", "another DataFrame"],
)
def test_what_is_no_condition_on_the_columns_of_a_batch_is_refused(
    bench: Bench, wrong: Callable[[PulledBatch], Any]
) -> None:
    """ "Bad input gets a clear error of the documented class": Spark's own named other things."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, [Message(b"a", {}, "a")])
    batch = bench.store.pull(subscription)
    with pytest.raises(InvalidArgument, match=r"^where: .*; a condition on the columns"):
        batch.ack(where=wrong(batch))
    assert batch.ack(where=F.col("ordering_key") == "a").counts["success"] == 1


def test_an_error_that_a_condition_raises_is_no_damage_to_the_topic(bench: Bench) -> None:
    """ "messages of this topic are lost to all subscriptions", for a text that is no JSON."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ['{"total": 3}', "{"])
    batch = bench.store.pull(subscription)
    parsed = "from_json(string(data), 'total INT', map('mode', 'FAILFAST')).total"
    failing = (
        (f"{parsed} > 1", "MALFORMED_RECORD"),
        ("boolean(raise_error('no disk: corrupt'))", "no disk"),
    )
    for condition, told in failing:
        with pytest.raises(Exception, match=told) as raised:
            batch.ack(where=F.expr(condition))
        assert not isinstance(raised.value, PubSubError)
    with pytest.raises(InvalidArgument, match=r"^where: .*`?nowhere`?.*; a condition on the colu"):
        batch.ack(where=F.expr("message_id IN (SELECT id FROM nowhere)"))
    assert batch.ack(where=F.expr("string(data) = '{'")).counts["success"] == 1


def test_ack_ids_do_not_come_from_a_stream(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    batch = bench.store.pull(subscription)
    stream = bench.spark.readStream.format("rate").load().select(F.lit("x").alias("ack_id"))
    with pytest.raises(InvalidArgument, match="a streaming DataFrame; a batch one is accepted"):
        bench.store.acknowledge(subscription, stream)
    assert batch.ack().counts["success"] == 1


@pytest.mark.parametrize("counted", [False, True])
def test_the_arrow_table_of_a_batch_is_its_dataframe(bench: Bench, counted: bool) -> None:
    topic = bench.topic()
    policy = DeadLetterPolicy(bench.topic()) if counted else None
    subscription = bench.subscription(topic, dead_letter_policy=policy)
    bench.store.publish(topic, [*FLIGHTS, Message(b"", {"only": "é"}), b"\x00\xff"])
    bench.clock.advance(1.5)
    bench.store.publish(topic, bench.spark.sql("SELECT 'frame' AS data, NULL AS attributes"))
    bench.store.pull(subscription, 3).nack()
    batch = bench.store.pull(subscription)
    arrow = batch.arrow()
    assert [row["message_id"] for row in arrow.to_pylist()] == [m.message_id for m in batch]
    assert_df_equality(
        bench.spark.createDataFrame(arrow), batch.df, transforms=[by_id], ignore_nullable=True
    )
    ids = arrow.slice(0, 4)
    assert batch.ack(ids).success == ids["ack_id"].to_pylist()
    assert batch.nack(arrow["ack_id"].slice(4, 1)).counts["success"] == 1


def test_a_backlog_has_the_rows_that_a_pull_gives(bench: Bench) -> None:
    # "Return the unacknowledged messages of a subscription; nothing is leased or written."
    topic = bench.topic()
    subscription = bench.subscription(topic, dead_letter_policy=DeadLetterPolicy(bench.topic()))
    bench.store.publish(topic, FLIGHTS)
    bench.store.pull(subscription, 5).nack()
    backlog = bench.store.backlog(subscription)
    assert_df_equality(
        backlog.drop("state"),
        bench.store.pull(subscription).df.drop("ack_id"),
        transforms=[by_id],
        ignore_nullable=True,
    )
    assert {row[0] for row in backlog.select("state").collect()} == {"available"}
    # "`delivery_attempt` where there is a dead-letter policy, else null"
    bench.store.update_subscription(subscription, dead_letter_policy=None)
    attempts = bench.store.backlog(subscription).select("delivery_attempt").distinct()
    assert [row[0] for row in attempts.collect()] == [None]


ANSWERS: dict[str, Callable[[PulledBatch], AckResult]] = {
    "ack": lambda batch: batch.ack(),
    "ack where": lambda batch: batch.ack(where=F.lit(True)),
    "ack ids": lambda batch: batch.ack([message.ack_id for message in batch]),
    "nack": lambda batch: batch.nack(),
    "modify_ack_deadline": lambda batch: batch.modify_ack_deadline(600),
}


def test_a_batch_of_a_deleted_subscription_touches_no_successor(bench: Bench) -> None:
    # "A named lease carries the subscription's uid: a handle of a deleted subscription never
    # touches its successor."
    topic, name = bench.unused("retaining"), bench.unused("created-twice")
    bench.store.create_topic(topic, message_retention_duration="1d")
    bench.store.create_subscription(name, topic)
    begin = bench.store.publish(topic, ["a", "b"]).publish_time
    old = bench.store.pull(name)
    bench.store.delete_subscription(name)
    bench.store.create_subscription(name, topic, ack_deadline_seconds=60)
    bench.store.seek(name, time=begin)
    new = bench.store.pull(name)  # the same messages, under a lease of the same number
    assert [m.message_id for m in new] == [m.message_id for m in old]
    for what, answer in ANSWERS.items():
        result = answer(old)
        assert result.counts == {"success": 0, "expired": 0, "invalid": 2}, what
        assert sorted(result.invalid) == sorted(message.ack_id for message in old), what
    bench.clock.advance(59)
    assert set(states(bench, name).values()) == {"leased"}
    bench.clock.advance(1)
    assert set(states(bench, name).values()) == {"available"}, "no deadline was moved"
