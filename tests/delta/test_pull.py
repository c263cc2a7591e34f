"""Pull: leases, redelivery, what is absorbed from the topic, and what a batch reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from chispa.schema_comparer import assert_schema_equality
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pubsub_delta import FailedPrecondition, InvalidArgument, Message, PubSub, PulledBatch
from tests.conftest import Bench


def check_columns(batch: PulledBatch) -> None:
    expected = StructType.fromDDL(
        "ack_id STRING, message_id STRING, publish_time TIMESTAMP, data BINARY, "
        "attributes MAP<STRING, STRING>, ordering_key STRING, delivery_attempt INT"
    )
    assert_schema_equality(batch.df.schema, expected, ignore_nullable=True)


def texts(batch: PulledBatch) -> list[str]:
    return [message.data.decode() for message in batch]


def test_a_leased_message_is_not_delivered_again_until_its_deadline(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=30)
    bench.store.publish(topic, ["a", "b", "c"])
    first = bench.store.pull(subscription, 2)
    assert texts(first) == ["a", "b"]  # the oldest first
    assert first.ack_deadline == bench.clock.now() + timedelta(seconds=30)
    assert first.ack_deadline_seconds == 30
    assert texts(bench.store.pull(subscription)) == ["c"]  # None means all that is available
    empty = bench.store.pull(subscription)  # "none is legal, not an error"
    assert (empty.message_count, list(empty), empty.df.count()) == (0, [], 0)
    check_columns(empty)
    assert empty.arrow().num_rows == 0
    bench.clock.advance(29)
    assert bench.store.pull(subscription).message_count == 0
    bench.clock.advance(1)
    again = bench.store.pull(subscription)
    assert texts(again) == ["a", "b", "c"]
    # "Every delivery has a fresh ack_id; message_id stays the same"
    old, new = next(iter(first)), next(iter(again))
    assert old.message_id == new.message_id
    assert old.ack_id != new.ack_id


def test_received_messages_carry_what_was_published(bench: Bench) -> None:
    topic, subscription = bench.pair()
    result = bench.store.publish(topic, [Message(b"\x00\xff", {"k": "v"}, "key"), "plain"])
    batch = bench.store.pull(subscription)
    full, plain = list(batch)
    assert full.message == Message(b"\x00\xff", {"k": "v"}, "key")
    assert full.publish_time == result.publish_time
    assert [full.message_id, plain.message_id] == result.message_ids
    assert (plain.attributes, plain.ordering_key) == ({}, "")
    # "is counted and shown only while a dead-letter policy is set"
    assert full.delivery_attempt is None
    check_columns(batch)


def test_the_dataframe_of_a_batch_is_made_when_it_is_asked_for(bench: Bench) -> None:
    """A pull that is iterated does without; and however late, it has the messages of the lease."""
    topic, subscription = bench.pair()
    for text in "ab":
        bench.store.publish(topic, [text])
    batch = bench.store.pull(subscription)
    assert texts(batch) == ["a", "b"]
    assert "df" not in vars(batch)
    batch.ack()
    bench.store.publish(topic, ["c"])
    bench.store.maintain(optimize=True)
    assert sorted(bytes(row["data"]) for row in batch.df.collect()) == [b"a", b"b"]
    assert batch.df is batch.df


def test_every_subscription_gets_its_own_copy_of_what_came_after_it(bench: Bench) -> None:
    topic = bench.topic()
    bench.store.publish(topic, ["before"])
    one, two = bench.subscription(topic), bench.subscription(topic)
    bench.store.publish(topic, ["after"])
    bench.store.pull(one).ack()
    assert bench.store.pull(one).message_count == 0
    assert texts(bench.store.pull(two)) == ["after"]


def test_an_empty_pull_commits_nothing(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    bench.store.pull(subscription).ack()
    table = bench.ack_state_table(subscription)
    before = bench.commits(table)
    assert bench.store.pull(subscription).message_count == 0
    assert bench.another().pull(subscription).message_count == 0
    assert bench.commits(table) == before


def test_max_messages_must_be_positive(bench: Bench) -> None:
    _, subscription = bench.pair()
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InvalidArgument, match="max_messages"):
            bench.store.pull(subscription, wrong)  # type: ignore[arg-type]


def three_publishes(bench: Bench) -> tuple[str, PulledBatch]:
    """Return a topic's table, and a batch of the first two of its messages: "a" and "b"."""
    topic, subscription = bench.pair()
    for text in ("a", "b", "c"):
        bench.store.publish(topic, [text])
    return bench.messages_table(topic), bench.store.pull(subscription, 2)


def test_a_batch_reads_the_same_rows_after_optimize(bench: Bench) -> None:
    table, batch = three_publishes(bench)
    assert texts(batch) == ["a", "b"]
    bench.spark.sql(f"OPTIMIZE {table}")
    assert texts(batch) == texts(batch) == ["a", "b"]


def test_new_messages_are_found_whatever_else_was_committed(bench: Bench) -> None:
    topic, subscription = bench.pair()
    table = bench.messages_table(topic)
    bench.store.publish(topic, [f"{n:02}" for n in range(10)])
    bench.store.publish(topic, ["10", "11"])
    bench.spark.sql(f"DELETE FROM {table} WHERE data IN (X'3033', X'3131')")  # "03" and "11"
    bench.spark.sql(f"OPTIMIZE {table}")
    expected = [f"{n:02}" for n in range(11) if n != 3]
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 10
    assert texts(bench.store.pull(subscription)) == expected
    bench.store.publish(topic, ["12"])
    bench.spark.sql(f"OPTIMIZE {table}")
    assert texts(bench.store.pull(subscription)) == ["12"]


def test_what_an_operator_has_overwritten_stops_no_consumer(bench: Bench) -> None:
    """Messages that were deleted are no longer delivered, and those that are stored still are."""
    topic, subscription = bench.pair()
    table = bench.messages_table(topic)
    bench.store.publish(topic, ["kept", "deleted"])
    kept = bench.spark.sql(f"SELECT * FROM {table} WHERE data = X'6b657074'").localCheckpoint()
    kept.createOrReplaceTempView("kept")
    bench.spark.sql(f"INSERT OVERWRITE {table} SELECT * FROM kept")
    bench.store.publish(topic, ["new"])
    assert texts(bench.store.pull(subscription)) == ["kept", "new"]


def test_a_late_commit_with_an_early_stamp_is_not_lost(bench: Bench) -> None:
    # "a slow publisher commits an old stamp late, and that message would be lost"
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    bench.store.publish(topic, ["on time"])
    assert bench.store.pull(subscription).message_count == 1
    bench.clock.advance(-3600)
    bench.store.publish(topic, ["late"])
    bench.clock.advance(3600)
    assert texts(bench.store.pull(subscription)) == ["late"]


def test_rows_of_other_writers_are_no_messages_and_in_nobodys_way(bench: Bench) -> None:
    # "what no publish of this library made adds no message": such a row has no position
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["before"])
    bench.spark.sql(
        f"INSERT INTO {bench.messages_table(topic)} (publish_time, ordering_key, attributes, data) "
        "VALUES (timestamp_micros(1767225600000000), '', map(), X'61')"
    )
    bench.store.publish(topic, ["after"])
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 2
    assert texts(bench.store.pull(subscription)) == ["before", "after"]


def test_a_key_that_another_tool_has_made_null_is_the_empty_one(bench: Bench) -> None:
    """Whoever reads a topic gets the same message: DataFrames, messages and views."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    bench.spark.sql(f"UPDATE {bench.messages_table(topic)} SET ordering_key = NULL")
    batch = bench.store.pull(subscription)
    assert [message.ordering_key for message in batch] == [""]
    for frame in (batch.df, bench.store.read_topic(topic)):
        assert frame.where("ordering_key = ''").count() == 1


def test_commits_beyond_the_first_look_are_all_absorbed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pubsub_delta.tables.messages.commits._FIRST_READ", 2)
    topic, subscription = bench.pair()
    for n in range(5):
        bench.store.publish(topic, [f"{n}"])
    assert texts(bench.store.pull(subscription)) == [f"{n}" for n in range(5)]


def test_a_scattered_lease_reads_exactly_its_messages(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=10)
    frame = bench.spark.range(2000).select(F.col("id").cast("string").alias("data"))
    bench.store.publish(topic, frame)
    whole = bench.store.pull(subscription)
    third = whole.df.where("CAST(message_id AS BIGINT) % 3 = 0")
    assert len(whole.ack(third).success) == 667
    bench.clock.advance(10)
    rest = bench.store.pull(subscription)
    assert rest.message_count == rest.df.count() == 1333
    assert rest.df.where("CAST(message_id AS BIGINT) % 3 = 0").count() == 0


def test_an_unacked_message_disappears_when_older_than_the_retention(bench: Bench) -> None:
    topic, subscription = bench.pair(message_retention_duration="10m")
    bench.store.publish(topic, ["old"])
    bench.clock.advance(300)
    bench.store.publish(topic, ["young"])
    bench.clock.advance(300)  # "an age equal to the limit is still kept"
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 2
    bench.clock.advance(1)
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 1
    assert texts(bench.store.pull(subscription)) == ["young"]


def test_a_span_that_is_partly_too_old_is_clipped(bench: Bench) -> None:
    topic, subscription = bench.pair(message_retention_duration="10m", ack_deadline_seconds=10)
    bench.store.publish(topic, ["old"])
    bench.clock.advance(300)
    bench.store.publish(topic, ["young"])
    bench.store.pull(subscription)  # one lease over both, so one span when it is over
    bench.clock.advance(301)
    expected = {
        "num_undelivered_messages": 1,
        "num_outstanding_messages": 0,
        "oldest_unacked_message_age": 301.0,
    }
    assert expected.items() <= bench.store.metrics(subscription).items()
    assert texts(bench.store.pull(subscription)) == ["young"]


def test_metrics_count_the_backlog_without_changing_it(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=10)
    bench.store.publish(topic, ["a", "b", "c"])
    bench.clock.advance(5)
    bench.store.pull(subscription, 1)
    # "leased messages are undelivered and outstanding"
    expected = {
        "num_undelivered_messages": 3,
        "num_outstanding_messages": 1,
        "oldest_unacked_message_age": 5.0,
    }
    assert expected.items() <= bench.store.metrics(subscription).items()
    bench.clock.advance(10)
    # "an expired lease is no longer outstanding, even before the next pull"
    assert bench.store.metrics(subscription)["num_outstanding_messages"] == 0


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.databricks.delta.stalenessLimit", "1h"),
        ("spark.sql.files.ignoreCorruptFiles", "true"),
        ("spark.sql.files.ignoreMissingFiles", "true"),
    ],
)
def test_a_session_that_leaves_messages_out_is_refused_by_its_setting(
    bench: Bench, setting: str, value: str
) -> None:
    # "What is acknowledged was received": a DataFrame of a batch lacks none of its messages.
    foreign = bench.spark.newSession()
    store = PubSub(foreign, bench.root, clock=bench.clock, lane=bench.lane)
    topic, name = bench.pair()
    bench.store.publish(topic, ["a"])
    assert store.pull(name, 1).df.count() == 1
    bench.store.publish(topic, ["b"])
    foreign.conf.set(setting, value)
    batch = store.pull(name)
    reads: list[Callable[[], DataFrame]] = [
        lambda: batch.df,
        lambda: store.read_topic(topic),
        lambda: store.read_topic(topic, as_of=1),
        lambda: store.read_topic_stream(topic),
    ]
    for read in reads:
        with pytest.raises(FailedPrecondition, match=f"{setting}={value}, .* nothing was read"):
            read()
    foreign.conf.unset(setting)
    bench.clock.advance(10)
    assert store.pull(name).df.count() == 2


def test_what_a_session_has_cached_of_a_topic_hides_no_message(bench: Bench) -> None:
    # "What is acknowledged was received", also by a program that has cached the topic's table.
    topic, name = bench.pair()
    bench.store.publish(topic, ["a"])
    cached = bench.spark.table(bench.messages_table(topic)).cache()
    assert cached.count() == 1
    bench.store.publish(topic, ["b"])
    batch = bench.store.pull(name)
    rows = batch.df.select("data").collect()
    assert sorted(bytes(row["data"]) for row in rows) == [b"a", b"b"]
    assert len(batch.ack(where=F.expr("string(data) = 'b'")).success) == 1
    assert bench.store.read_topic(topic).count() == 2
    cached.unpersist()


def test_a_topic_is_read_anew_though_an_earlier_look_at_it_is_cached(bench: Bench) -> None:
    # "`read_topic` and `backlog` of a store … look each time."
    topic, name = bench.pair()
    for count in (1, 2, 3):
        bench.store.publish(topic, ["a"])
        looks = bench.store.read_topic(topic).cache(), bench.store.backlog(name).cache()
        assert [each.count() for each in looks] == [count, count]
    bench.spark.catalog.clearCache()
