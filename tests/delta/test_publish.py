"""Publishing: one atomic append, checked as a whole, stamped once."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta import FailedPrecondition, InvalidArgument, Message, NotFound, PubSub
from pubsub_delta.policy import messages as rules
from pubsub_delta.tables.lanes.spark.columns import surely_valid, violations
from tests.conftest import Bench, forget_commits
from tests.delta.cases import MESSAGE_CASES, as_rows


def test_ids_are_unique_and_in_request_order(bench: Bench) -> None:
    topic = bench.topic()
    first = bench.store.publish(topic, [f"m{n}" for n in range(100)])
    second = bench.store.publish(topic, [b"bytes", Message(b"", {"only": "attributes"})])
    ids = [*first.message_ids, *second.message_ids]
    assert first.message_count == len(first.message_ids) == 100
    assert len(set(ids)) == 102
    stored = {row["message_id"]: row for row in bench.store.read_topic(topic).collect()}
    assert [bytes(stored[each]["data"]) for each in first.message_ids] == [
        f"m{n}".encode() for n in range(100)
    ]
    assert stored[second.message_ids[1]]["attributes"] == {"only": "attributes"}


def test_publish_time_is_stamped_once_by_the_librarys_clock(bench: Bench) -> None:
    topic = bench.topic()
    frame = bench.spark.range(1000).select(
        F.col("id").cast("string").alias("data"),
        F.lit("client's").alias("message_id"),
        F.current_date().cast("timestamp").alias("publish_time"),
    )
    # "values that a client supplies for those are ignored"
    result = bench.store.publish(topic, frame)
    stored = bench.store.read_topic(topic)
    assert result.publish_time == bench.clock.now()
    micros = {row[0] for row in stored.select(F.unix_micros("publish_time")).collect()}
    assert micros == {int(bench.clock.now().timestamp() * 1_000_000)}
    assert stored.where('message_id = "client\'s"').count() == 0
    history = bench.spark.sql(f"DESCRIBE HISTORY {bench.messages_table(topic)} LIMIT 1").first()
    assert history is not None
    assert json.loads(history["userMetadata"])["publish_time"] in micros
    assert history["isBlindAppend"]


def test_the_day_of_a_message_is_that_of_utc(bench: Bench) -> None:
    # 2026-03-01 02:00 UTC is still 28 February in the session's time zone, New York.
    topic = bench.topic()
    bench.clock.advance(
        (datetime(2026, 3, 1, 2, tzinfo=timezone.utc) - bench.clock.now()).total_seconds()
    )
    bench.store.publish(topic, ["x"])
    days = bench.spark.table(bench.messages_table(topic)).select("publish_date").collect()
    assert [str(row[0]) for row in days] == ["2026-03-01"]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (Message(b"", {}), "at least one attribute"),
        (Message(b"x", {"googclient": "1"}), "goog"),
        (b"x" * 10_000_001, "10,000,000"),
        (7, "int"),
        (Message("text"), "bytes are accepted"),  # type: ignore[arg-type]
    ],
)
def test_one_bad_message_fails_its_whole_request(bench: Bench, bad: object, told: str) -> None:
    topic = bench.topic()
    with pytest.raises(InvalidArgument, match=told) as caught:
        bench.store.publish(topic, ["good", bad, "good"])
    assert "messages[1]" in str(caught.value)
    assert bench.commits(bench.messages_table(topic)) == 1  # CREATE TABLE


def test_empty_requests_and_single_texts_are_refused(bench: Bench) -> None:
    topic = bench.topic()
    refused: list[object] = [[], "a text", b"bytes", 7]
    for wrong in refused:
        with pytest.raises(InvalidArgument, match="messages"):
            bench.store.publish(topic, wrong)


def test_the_two_evaluators_of_the_message_rules_agree(spark: SparkSession) -> None:
    rows = as_rows(spark, [message for message, _ in MESSAGE_CASES])
    checked = rows.select(
        "number",
        surely_valid().alias("sure"),
        *(w.alias(f"r{n}") for n, w in enumerate(violations().values())),
    )
    found = {row["number"]: row for row in checked.collect()}
    names = list(violations())
    assert names == list(rules.FIELD_OF_RULE)
    for number, (message, expected) in enumerate(MESSAGE_CASES):
        broken = [rule for n, rule in enumerate(names) if found[number][f"r{n}"]]
        assert (broken[0] if broken else None) == expected, message
        assert rules.broken_rule(message) == expected, message
        # The quick check may doubt a good message, but never pass a bad one.
        assert not (found[number]["sure"] and expected), message


def test_a_dataframe_is_refused_whole_with_column_rule_and_count(bench: Bench) -> None:
    topic = bench.topic()
    frame = bench.spark.range(1000).select(
        F.when(F.col("id") < 7, F.lit("")).otherwise("x").alias("data"),
        F.when(F.col("id") == 500, F.create_map(F.lit("goog"), F.lit("v"))).alias("attributes"),
    )
    with pytest.raises(InvalidArgument) as caught:
        bench.store.publish(topic, frame)
    told = str(caught.value)
    assert f"column 'data': {rules.EMPTY}: 7 offending rows" in told
    assert f"column 'attributes': {rules.BAD_KEY}: 1 offending row;" in told
    assert "nothing was published" in told
    assert bench.commits(bench.messages_table(topic)) == 1


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"data": "id"}, "'data' is BIGINT; BINARY or STRING"),
        ({"data": "string(id)", "attributes": "'a'"}, "MAP<STRING,STRING>"),
        ({"data": "string(id)", "attributes": "map('a', id)"}, "MAP<STRING,BIGINT>"),
        ({"data": "string(id)", "key": "'a'"}, "'key' is not a column"),
        ({"ordering_key": "'a'"}, "neither"),
    ],
)
def test_wrong_columns_and_types_are_refused(
    bench: Bench, columns: dict[str, str], told: str
) -> None:
    frame = bench.spark.range(1).selectExpr(*(f"{sql} AS {name}" for name, sql in columns.items()))
    with pytest.raises(InvalidArgument) as caught:
        bench.store.publish(bench.topic(), frame)
    assert told in str(caught.value)


def test_columns_that_differ_by_the_case_of_letters_alone_are_refused(bench: Bench) -> None:
    # Most sessions look for a column in any case, and would find two.
    frame = bench.spark.sql("SELECT 'a' AS data, 1 AS DATA")
    with pytest.raises(InvalidArgument, match="column 'data' appears twice"):
        bench.store.publish(bench.topic(), frame, order_by="DATA")


def test_a_message_of_a_dataframe_without_a_key_has_the_empty_one(bench: Bench) -> None:
    topic, name = bench.pair()
    bench.store.publish(topic, bench.spark.sql("SELECT 'a' AS data, NULL AS ordering_key"))
    batch = bench.store.pull(name)
    assert [row["ordering_key"] for row in batch.df.select("ordering_key").collect()] == [""]
    assert batch.arrow()["ordering_key"].to_pylist() == [""]
    assert batch.ack(where=F.col("ordering_key") == "").counts["success"] == 1


def test_messages_of_many_attributes_are_published_too(bench: Bench) -> None:
    topic = bench.topic()
    frame = many_attributes(bench.spark, 100)
    assert bench.store.publish(topic, frame).message_count == 3
    with pytest.raises(InvalidArgument, match="at most 100 attributes: 3 offending rows"):
        bench.store.publish(topic, many_attributes(bench.spark, 101))


def many_attributes(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(3).selectExpr(
        "string(id) AS data",
        f"map_from_entries(transform(sequence(1, {count}), n -> struct('k' || n, 'v'))) "
        "AS attributes",
    )


def test_a_dataframe_without_rows_publishes_nothing_and_its_id_hides_no_later_rows(
    bench: Bench,
) -> None:
    """A batch whose input had not arrived yet is no error; its repetition must lose nothing."""
    topic = bench.topic()
    nothing = bench.spark.createDataFrame([], "data string")
    rows = bench.spark.createDataFrame([("a",)], "data string")
    assert bench.store.publish(topic, nothing).message_count == 0
    for _ in range(2):
        done = bench.store.publish(topic, nothing, idempotency_id=("nightly", 1))
        assert done.message_count == 0
    for late in (rows, ["a"]):
        with pytest.raises(FailedPrecondition, match="was published without messages"):
            bench.store.publish(topic, late, idempotency_id=("nightly", 1))
    bench.store.publish(topic, rows, idempotency_id=("nightly", 2))
    assert bench.store.metrics(topic)["message_count"] == 1


def test_publishing_an_idempotency_id_again_writes_nothing(bench: Bench) -> None:
    topic = bench.topic()
    first = bench.store.publish(topic, ["a", "b"], idempotency_id=("loader", 1))
    bench.clock.advance(5)
    again = bench.another().publish(topic, ["a", "b"], idempotency_id=("loader", 1))
    assert again.message_ids == first.message_ids
    assert again.publish_time == first.publish_time
    bench.store.publish(topic, ["c"], idempotency_id=("loader", 3))
    assert bench.store.metrics(f"projects/local/topics/{topic}")["message_count"] == 3
    # Delta would skip a lower version silently; those messages would be lost.
    with pytest.raises(FailedPrecondition, match="version 2 of 'loader'"):
        bench.store.publish(topic, ["d"], idempotency_id=("loader", 2))
    for wrong in (("loader", -1), ("", 1), ("loader", "1"), "loader"):
        with pytest.raises(InvalidArgument, match="idempotency_id"):
            bench.store.publish(topic, ["e"], idempotency_id=wrong)  # type: ignore[arg-type]


def test_a_publish_that_is_known_to_have_landed_is_done_whatever_the_log_still_tells(
    bench: Bench,
) -> None:
    topic = bench.topic()
    store = bench.another()
    store.publish(topic, ["a", "b"], idempotency_id=("loader", 5))
    forget_commits(bench, topic)
    again = bench.another().publish(topic, ["a", "b"], idempotency_id=("loader", 5))
    for told in ("publish_time", "message_ids", "message_count"):
        with pytest.raises(NotFound, match="loader:5 is no longer in the topic's history"):
            getattr(again, told)
    assert "loader:5" in repr(again)
    with pytest.raises(FailedPrecondition, match="version 4 of 'loader'"):
        bench.another().publish(topic, ["c"], idempotency_id=("loader", 4))
    assert bench.store.metrics(f"projects/local/topics/{topic}")["message_count"] == 2 + 1


def test_a_foreign_session_works_with_one_warning(bench: Bench) -> None:
    foreign = bench.spark.newSession()
    foreign.conf.unset("spark.databricks.delta.snapshotPartitions")
    with pytest.warns(UserWarning, match="snapshotPartitions=1"):
        store = PubSub(foreign, bench.root, clock=bench.clock)
    topic = bench.topic()
    assert store.publish(topic, ["x"]).message_count == 1


DELTA_WRITES = "spark.databricks.delta.write"


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"},
        {f"{DELTA_WRITES}.txnAppId": "another", f"{DELTA_WRITES}.txnVersion": "1"},
    ],
    ids=["times of milliseconds", "a transaction"],
)
def test_a_session_that_writes_something_else_is_refused_by_its_setting(
    bench: Bench, settings: dict[str, str]
) -> None:
    # Its messages could not be read, or Delta would skip all writes but the first of the session.
    foreign = bench.spark.newSession()
    store = PubSub(foreign, bench.root, clock=bench.clock, lane=bench.lane)
    topic, name = bench.pair()
    for setting, value in settings.items():
        foreign.conf.set(setting, value)
    for setting in settings:
        with pytest.raises(FailedPrecondition, match=f"{setting}.* nothing was written"):
            store.publish(topic, foreign.sql("SELECT 'a' AS data"))
        with pytest.raises(FailedPrecondition, match=f"{setting}.* nothing was written"):
            bench.store.publish(topic, foreign.sql("SELECT 'a' AS data"))  # by a store without it
    for setting in settings:
        foreign.conf.unset(setting)
    assert store.publish(topic, foreign.sql("SELECT 'b' AS data")).message_count == 1
    assert [message.data for message in store.pull(name)] == [b"b"]
