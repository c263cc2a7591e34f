"""``format("pubsub_delta")``: reading and consuming a store by Spark's data source API.

The source lives in Python processes of Spark's, with the machine's clock.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta import Message
from pubsub_delta.clock import SystemClock
from pubsub_delta.tables.lanes.spark.types import spark_schema
from pubsub_delta.tables.schemas import BACKLOG, BATCH
from tests.delta.live import FORMAT, NAME, TOPIC, Live, texts


class Seen:
    """What a query's function was given, by batch id."""

    def __init__(self, fail_in: int | None = None) -> None:
        self.batches: list[tuple[int, list[str]]] = []
        self._fail_in = fail_in

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        self.batches.append((batch_id, texts(df)))
        if self._fail_in == batch_id:
            self._fail_in = None
            raise ValueError("no room left")


# Reading


def test_the_format_is_found_by_its_name(live: Live) -> None:
    """Spark looks for packages ``pyspark_…`` with a ``DefaultSource``; nothing is registered."""
    live.publish("a")
    assert texts(live.spark.read.format("pubsub_delta").load(live.root, topic=TOPIC)) == ["a"]


def test_a_topic_is_read_with_the_columns_of_a_message(live: Live) -> None:
    live.store.publish(TOPIC, [Message(b"a", {"carrier": "UA"}, "key"), Message(b"b")])
    rows = live.read(topic=TOPIC)
    assert rows.columns == ["message_id", "publish_time", "data", "attributes", "ordering_key"]
    found = {bytes(row["data"]): row for row in rows.collect()}
    assert found[b"a"]["attributes"] == {"carrier": "UA"}
    assert found[b"a"]["ordering_key"] == "key"
    assert (found[b"b"]["attributes"], found[b"b"]["ordering_key"]) == ({}, "")
    assert rows.where("ordering_key = 'key'").count() == 1


def test_a_topic_is_read_as_it_was_at_a_version_or_a_time(live: Live) -> None:
    live.publish("a")
    after_one = SystemClock().now().isoformat()
    live.publish("b")
    assert texts(live.read(topic=TOPIC, asOf="1")) == ["a"]
    assert texts(live.read(topic=TOPIC, asOf=after_one)) == ["a"]
    assert texts(live.read(topic=TOPIC)) == ["a", "b"]
    with pytest.raises(PySparkException, match="InvalidArgument: as_of: 99 is neither"):
        live.read(topic=TOPIC, asOf="99").collect()


def test_a_schema_of_some_columns_reads_only_those(live: Live) -> None:
    live.publish("a")
    rows = live.read(topic=TOPIC, schema="data BINARY, message_id STRING")
    assert [tuple(row) for row in rows.collect()] == [(b"a", "0")]
    with pytest.raises(PySparkException, match="InvalidArgument: schema: payload:string is not a"):
        live.read(topic=TOPIC, schema="payload STRING").collect()


def test_the_backlog_is_read_with_its_states_and_nothing_is_leased(live: Live) -> None:
    live.store.update_subscription(NAME, ack_deadline_seconds=600)
    live.publish("a", "b", "c")
    live.store.pull(NAME, 1)
    rows = live.read(backlog=NAME)
    assert rows.schema == spark_schema(BACKLOG)
    found = {bytes(row["data"]): row["state"] for row in rows.collect()}
    assert found == {b"a": "leased", b"b": "available", b"c": "available"}
    assert live.store.metrics(NAME)["num_outstanding_messages"] == 1


def test_nothing_is_read_of_an_empty_topic(live: Live) -> None:
    assert live.read(topic=TOPIC).collect() == []
    assert live.read(backlog=NAME).collect() == []


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[None]:
    name = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(name, "true")
    yield
    spark.conf.unset(name)


def test_filters_are_taken_over_where_that_is_asked_for(live: Live, pushing: None) -> None:
    for key, data in (("x", "a"), ("y", "b"), ("x", "c")):
        live.store.publish(TOPIC, [Message(data.encode(), {}, key)])
    rows = live.read(topic=TOPIC, pushFilters="true")
    times = [row["publish_time"] for row in rows.sort("message_id").collect()]
    second = F.lit(times[1])
    for condition, wanted in {
        "message_id = '1'": ["b"],
        "message_id IN ('0', '2', 'x')": ["a", "c"],
        "message_id = '01'": [],
        f"message_id IN ('1', '{'9' * 5000}')": ["b"],
        "ordering_key = 'x'": ["a", "c"],
        "ordering_key = 'x' AND message_id = '1'": [],
        "ordering_key <> 'x'": ["b"],
        "string(data) > 'a'": ["b", "c"],
    }.items():
        assert texts(rows.where(condition)) == wanted, condition
    of_time = F.col("publish_time")
    assert texts(rows.where(of_time >= second)) == ["b", "c"]
    assert texts(rows.where(of_time > second)) == ["c"]
    assert texts(rows.where(of_time <= second)) == ["a", "b"]
    assert texts(rows.where((of_time < second) & (F.col("message_id") != "7"))) == ["a"]
    assert texts(rows.where(of_time == second)) == ["b"]
    assert texts(rows.where("publish_time > TIMESTAMP'9999-12-31 23:59:59.999999Z'")) == []


def test_a_read_works_whether_spark_offers_filters_or_not(live: Live, pushing: None) -> None:
    """Spark refuses a reader that takes filters where its own setting is off, as it is."""
    live.publish("a", "b")
    assert texts(live.read(topic=TOPIC).where("message_id = '1'")) == ["b"]


# Consuming


def test_a_stream_drains_a_subscription_in_micro_batches(live: Live) -> None:
    live.publish(*"abcdefg")
    seen = Seen()
    assert live.stream().schema == spark_schema(BATCH)
    query = live.consume(seen, maxMessagesPerTrigger="3")
    assert query.awaitTermination(120)
    assert seen.batches == [(0, list("abc")), (1, list("def")), (2, ["g"])]
    assert live.undelivered == 0


def test_a_stream_goes_on_where_its_checkpoint_stands(live: Live) -> None:
    seen = Seen()
    for part in ("ab", "cd"):
        live.publish(*part)
        assert live.consume(seen).awaitTermination(120)
    assert seen.batches == [(0, ["a", "b"]), (1, ["c", "d"])]


def test_a_micro_batch_that_failed_is_run_again_with_the_same_messages(live: Live) -> None:
    # "a restarted query gets `partitions(start, end)` for the same offsets again and must find the
    # same messages … less what others took meanwhile"
    live.publish("a", "b", "c")
    seen = Seen(fail_in=1)
    with pytest.raises(StreamingQueryException, match="no room left"):
        live.consume(seen, maxMessagesPerTrigger="2").awaitTermination(120)
    live.publish("d")
    assert live.consume(seen, maxMessagesPerTrigger="2").awaitTermination(120)
    assert seen.batches == [(0, ["a", "b"]), (1, ["c"]), (1, ["c"]), (2, ["d"])]
    assert live.undelivered == 0


def forget_last_commit(checkpoint: Path) -> None:
    """Have a query that ended look as if it had died before it wrote that its last batch ended."""
    last = max(
        (each for each in (checkpoint / "commits").glob("[0-9]*")), key=lambda e: int(e.name)
    )
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


def copy(live: Live) -> None:
    """Drain into a Delta table by Spark's own sink, exactly once."""
    writer = live.stream(maxMessagesPerTrigger="3").writeStream.format("delta")
    writer = writer.option("checkpointLocation", str(live.at / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(live.at / "out"))
    assert query.awaitTermination(120)


def test_a_sink_with_a_checkpoint_has_every_message_once_after_a_restart(live: Live) -> None:
    # "So any sink with Spark's checkpoint has the effect of exactly once."
    live.publish(*"abcdefg")
    copy(live)
    forget_last_commit(live.at / "checkpoint")
    live.publish("h")
    copy(live)
    assert texts(live.spark.read.format("delta").load(str(live.at / "out"))) == list("abcdefgh")
    assert live.undelivered == 0


def test_the_checkpoint_names_the_micro_batch(live: Live) -> None:
    # "offsets are your own JSON and are persisted in the checkpoint's offset log BEFORE the batch
    # runs, so put what names the lease into the offset"
    live.publish("a")
    assert live.consume(Seen()).awaitTermination(120)
    (kept,) = (live.at / "checkpoint/offsets").glob("[0-9]*")
    offset = json.loads(kept.read_text().splitlines()[-1])
    assert (offset["batch"], offset["subscription"]) == (0, live.store.get_subscription(NAME).uid)


def test_the_lease_of_a_long_micro_batch_is_extended(live: Live) -> None:
    live.publish("a")
    deadlines: list[datetime] = []

    def wait(df: DataFrame, _: int) -> None:
        for seconds in (0, 5):  # of an ack deadline of 10
            time.sleep(seconds)
            (span,) = live.store.survey_ack_state(NAME).spans
            assert span.until is not None
            deadlines.append(span.until)

    assert live.consume(wait).awaitTermination(120)
    assert deadlines[1] > deadlines[0]


def test_a_query_of_the_other_connector_runs_with_another_format(live: Live) -> None:
    """As its documentation writes it, with credentials, for a subscription that is not there yet.

    Its columns: messageId, payload, attributes as JSON, a time in milliseconds.
    """
    live.publish("before")
    auth_options = {
        "clientId": "1",
        "clientEmail": "me@example.com",
        "privateKey": "secret",
        "privateKeyId": "2",
    }

    def query() -> DataFrame:
        return (
            live.spark.readStream.format(FORMAT)
            .option("subscriptionId", "mysub")
            .option("topicId", TOPIC)
            .option("projectId", "local")
            .options(**auth_options)
            .load(live.root)
        )

    rows: list[Any] = []

    def run() -> None:
        writer = query().writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        writer = writer.option("checkpointLocation", str(live.at / "theirs"))
        assert writer.trigger(availableNow=True).start().awaitTermination(120)

    run()
    assert (rows, live.store.metrics("mysub")["num_undelivered_messages"]) == ([], 0)
    live.store.publish(TOPIC, [Message(b"a", {"carrier": "UA"})])
    run()
    assert query().dtypes == [
        ("messageId", "string"),
        ("payload", "binary"),
        ("attributes", "string"),
        ("publishTimestampInMillis", "bigint"),
    ]
    assert [json.loads(row["attributes"]) for row in rows] == [{"carrier": "UA"}]
    assert [bytes(row["payload"]) for row in rows] == [b"a"]
    live.store.delete_subscription("mysub")
    with pytest.raises(StreamingQueryException, match="mysub does not exist"):
        run()


def test_the_messages_of_a_key_come_in_order(live: Live) -> None:
    live.store.create_subscription("ordered", TOPIC, enable_message_ordering=True)
    wanted = [f"{n}" for n in range(50)]
    live.store.publish(TOPIC, [Message(each.encode(), {}, "key") for each in wanted])
    seen: list[str] = []
    rows = live.stream(subscription="ordered").writeStream.foreachBatch(
        lambda df, _: seen.extend(bytes(row["data"]).decode() for row in df.collect())
    )
    assert rows.trigger(availableNow=True).start().awaitTermination(120)
    assert seen == wanted


def test_bytes_bound_a_micro_batch(live: Live) -> None:
    """About: by what the messages of the topic take where they are stored."""
    live.publish(*(f"{n}" for n in range(10)))
    seen = Seen()
    assert live.consume(seen, maxBytesPerTrigger="1").awaitTermination(120)
    assert [len(batch) for _, batch in seen.batches] == [1] * 10


# What is refused


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"subscription": "absent"}, "NotFound: subscription projects/local/.*/absent does not"),
        ({"rot": "x"}, "InvalidArgument: rot: no option"),
        ({"asOf": "1"}, "InvalidArgument: asOf: readStream does not have this option"),
        ({"topic": "others"}, "FailedPrecondition: topic: .*others, but subscription"),
        ({"root": "main.pubsub"}, "FailedPrecondition: root: main.pubsub is a catalog schema"),
        ({"maxMessagesPerTrigger": "0"}, "InvalidArgument: maxMessagesPerTrigger: '0'"),
    ],
)
def test_a_stream_that_cannot_be_says_why(live: Live, options: dict[str, str], told: str) -> None:
    # "clear errors of the library's classes that say what was expected, what came, what to do"
    with pytest.raises(PySparkException, match=told):
        live.consume(Seen(), **options).awaitTermination(120)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"topic": "absent"}, "NotFound: topic projects/local/topics/absent does not exist"),
        ({"backlog": "absent"}, "NotFound: subscription projects/local/.*/absent does not"),
        ({"subscription": NAME}, "InvalidArgument: subscription: 'delays'; a batch read leases"),
        ({}, "InvalidArgument: topic, backlog: one of the two"),
        ({"topic": TOPIC, "backlog": NAME}, "InvalidArgument: topic, backlog: one of the two"),
    ],
)
def test_a_read_that_cannot_be_says_why(live: Live, options: dict[str, str], told: str) -> None:
    with pytest.raises(PySparkException, match=told):
        live.read(**options).collect()


def test_a_message_that_is_gone_is_told(live: Live) -> None:
    # "DataLoss where there are fewer than were leased."
    live.publish("a", "b")
    uid = live.store.get_topic(TOPIC).uid

    def lose(df: DataFrame, _: int) -> None:
        live.spark.sql(f"DELETE FROM delta.`{live.root}/messages/{uid}` WHERE position = 0")
        df.collect()

    with pytest.raises(
        StreamingQueryException, match=r"DataLoss: .*1 of 2 leased messages are missing"
    ):
        live.consume(lose).awaitTermination(120)
