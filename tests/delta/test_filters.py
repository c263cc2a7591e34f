"""Filters on real tables: the column twin, and backlogs of what matches (spec section 7)."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pubsub_delta import InvalidArgument, Message
from pubsub_delta.policy.filters import matches, parse_filter
from pubsub_delta.tables.lanes.spark.columns import matching
from tests.conftest import Bench
from tests.delta.cases import as_rows
from tests.unit.filter_cases import FILTER_CASES


def test_both_evaluators_agree_with_the_table_of_cases(spark: SparkSession) -> None:
    rows = as_rows(spark, [Message(b"x", attributes) for _, attributes, _ in FILTER_CASES])
    wanted = F.lit(False)
    for number, (text, _, _) in enumerate(FILTER_CASES):
        wanted = F.when(F.col("number") == number, matching(parse_filter(text))).otherwise(wanted)
    for row in rows.select("number", wanted.alias("matches")).collect():
        text, attributes, expected = FILTER_CASES[row["number"]]
        assert row["matches"] == expected == matches(parse_filter(text), attributes), text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('attributes.k = "v"', 0),
        ('attributes.k != "v"', 1),
        ("attributes:k", 0),
        ("-attributes:k", 1),
    ],
)
def test_a_message_without_any_attributes_has_none(
    spark: SparkSession, text: str, expected: int
) -> None:
    without = spark.sql("SELECT CAST(NULL AS MAP<STRING, STRING>) AS attributes")
    assert without.where(matching(parse_filter(text))).count() == expected


def test_what_does_not_match_is_never_backlog(bench: Bench) -> None:
    # "Messages that do not match are never in the backlog nor in its metrics."
    topic = bench.topic()
    some = bench.subscription(topic, filter='attributes.n = "1" OR NOT attributes:n')
    none = bench.subscription(topic, filter="attributes:nothing")
    every = bench.subscription(topic, filter="  ")
    bench.store.publish(
        topic, [Message(f"{n}".encode(), {"n": f"{n % 5}"} if n % 7 else {}) for n in range(140)]
    )
    expected = [n for n in range(140) if n % 5 == 1 or n % 7 == 0]
    assert bench.store.metrics(some)["num_undelivered_messages"] == len(expected)
    assert bench.store.metrics(none)["num_undelivered_messages"] == 0
    assert bench.store.pull(none).message_count == 0
    assert (bench.store.get_subscription(every).filter, bench.store.pull(every).message_count) == (
        "",
        140,
    )
    batch = bench.store.pull(some)
    assert [int(message.data) for message in batch] == expected
    assert batch.ack().counts["success"] == len(expected)
    bench.store.publish(topic, [Message(b"late", {"n": "1"}), Message(b"other", {"n": "2"})])
    assert [message.data for message in bench.store.pull(some)] == [b"late"]


def test_a_filter_is_checked_at_creation_and_never_changed(bench: Bench) -> None:
    topic, subscription = bench.pair(filter="attributes:a")
    with pytest.raises(InvalidArgument, match="column 16"):
        bench.subscription(topic, filter="attributes:a OR")
    with pytest.raises(InvalidArgument, match="'filter' cannot be changed"):
        bench.store.update_subscription(subscription, filter="attributes:b")


@pytest.mark.parametrize("as_frame", [False, True])
def test_of_publishes_at_the_same_time_only_the_new_ones_are_found(
    bench: Bench, as_frame: bool
) -> None:
    """What is new is decided by the commit, never by the time; each has what passes of its own."""
    topic = bench.topic()
    subscription = bench.subscription(topic, filter='attributes.n = "1"')
    for text in ("a", "b", "c"):  # the clock stands still
        messages = [Message(f"{text}{n}".encode(), {"n": f"{n}"}) for n in range(3)]
        rows = as_rows(bench.spark, messages).drop("number").coalesce(1)
        bench.store.publish(topic, rows if as_frame else messages)
        if text == "a":
            assert [m.data for m in bench.store.pull(subscription)] == [b"a1"]
    assert [m.data for m in bench.store.pull(subscription)] == [b"b1", b"c1"]
    bench.store.publish(topic, [Message(b"d", {"n": "2"})])
    assert bench.store.pull(subscription).message_count == 0
