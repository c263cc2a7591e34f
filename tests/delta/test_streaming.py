"""Structured Streaming: queries that consume a subscription, publish, or read along."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from pubsub_delta import (
    DataLoss,
    DeadLetterPolicy,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PubSub,
    RetryPolicy,
    micro_batch_lease,
)
from pubsub_delta.operations import pull
from tests.conftest import Bench, forget_commits
from tests.delta.test_data_source import forget_last_commit

DRAIN = {"availableNow": True}


class Seen:
    """What a query's process was given: the texts of each micro-batch, in order of batch id."""

    def __init__(self, fail_in: int = 0) -> None:
        self.batches: list[tuple[int, list[str]]] = []
        self._failures = fail_in

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        self.batches.append((batch_id, texts(df)))
        if self._failures:
            self._failures -= 1
            raise ValueError("no room left")

    @property
    def texts(self) -> list[str]:
        return [text for _, batch in self.batches for text in batch]


def texts(df: DataFrame) -> list[str]:
    rows = df.selectExpr("message_id", "string(data) AS data").collect()
    return [row["data"] for row in sorted(rows, key=lambda row: int(row["message_id"]))]


def drain(bench: Bench, subscription: str, process: Any, at: Path, most: int | None = None) -> None:
    """Run a query until what was available is processed; raise what it ended with."""
    query = bench.store.subscribe_stream(
        subscription,
        process,
        checkpoint_location=str(at),
        trigger=DRAIN,
        max_messages=most,
    )
    assert query.awaitTermination(120)


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it did not happen within a minute"
        time.sleep(0.1)


def has_more_commits(bench: Bench, table: str, than: int) -> bool:
    return bench.commits(table) > than


def undelivered(bench: Bench, subscription: str) -> int:
    return int(bench.store.metrics(subscription)["num_undelivered_messages"])


def test_a_query_drains_a_subscription_in_micro_batches(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(micro_batch_lease, "IDLE_SECONDS", 600)  # however slow the machine is
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    bench.store.publish(topic, list("abcdefg"))
    table = bench.ack_state_table(subscription)
    commits = bench.commits(table)
    seen = Seen()
    query = bench.store.subscribe_stream(
        subscription, seen, checkpoint_location=str(tmp_path), trigger=DRAIN, max_messages=3
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    assert seen.batches == [(0, list("abc")), (1, list("def")), (2, ["g"])]
    # "Ack of batch n and pull of batch n+1 are one commit."
    assert bench.commits(table) - commits == 4
    assert undelivered(bench, subscription) == 0
    # "Progress shows in query.lastProgress/observed metrics and with Pub/Sub's metric names."
    told = query.lastProgress
    assert told is not None
    metrics = told["observedMetrics"]["pubsub_delta"]
    assert metrics["num_undelivered_messages"] == 0
    assert metrics["ack_message_count_success"] == 7
    assert metrics["processed_message_count"] == 7
    # The last one is acknowledged at once, and one more tells the metrics after that.
    assert told["batchId"] == 3


def test_a_last_micro_batch_that_could_not_be_acknowledged_at_once_is_all_the_same(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one, which takes none, acknowledges it."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b"])

    def fail(*_: object) -> None:
        raise DataLoss("not now")

    monkeypatch.setattr(pull, "finish_micro_batch", fail)
    seen = Seen()
    drain(bench, subscription, seen, tmp_path)
    assert seen.batches == [(0, ["a", "b"])]
    assert undelivered(bench, subscription) == 0


def test_an_error_in_process_gives_the_batch_back_and_fails_the_query(
    bench: Bench, tmp_path: Path
) -> None:
    # "An exception in `process` nacks the batch and fails the query."
    # Those who run a batch again do not wait for the backoff: it is still the same delivery.
    topic, subscription = bench.pair(retry_policy=RetryPolicy("60s"))
    bench.store.publish(topic, ["a", "b"])
    seen = Seen(fail_in=1)
    with pytest.raises(StreamingQueryException, match="no room left"):
        drain(bench, subscription, seen, tmp_path)
    assert bench.store.metrics(subscription)["num_outstanding_messages"] == 0
    bench.store.publish(topic, ["c"])
    # "a restarted query finds the same lease with the same rows again … never other rows"
    drain(bench, subscription, seen, tmp_path)
    assert seen.batches == [(0, ["a", "b"]), (0, ["a", "b"]), (1, ["c"])]
    assert undelivered(bench, subscription) == 0


@pytest.mark.trial
def test_what_another_consumer_took_over_is_not_seen_again(bench: Bench, tmp_path: Path) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b", "c"])
    seen = Seen(fail_in=1)
    with pytest.raises(StreamingQueryException):
        drain(bench, subscription, seen, tmp_path)
    other = bench.store.pull(subscription, 1)
    drain(bench, subscription, seen, tmp_path)
    assert [batch for _, batch in seen.batches] == [["a", "b", "c"], ["b", "c"]]
    other.nack()
    seen = Seen(fail_in=1)
    with pytest.raises(StreamingQueryException):
        drain(bench, subscription, seen, tmp_path)
    # Nothing is left of the micro-batch; what else is available comes with the next one.
    assert bench.store.pull(subscription, 1).ack().counts["success"] == 1
    bench.store.publish(topic, ["d"])
    drain(bench, subscription, seen, tmp_path)
    assert [batch for _, batch in seen.batches] == [["a"], ["d"]]


def test_a_run_offers_what_was_published_before_it_after_a_micro_batch_without_messages(
    bench: Bench, tmp_path: Path
) -> None:
    # "the run ends when each message that was available when it began has been offered once"
    topic, sub = bench.pair()
    bench.store.publish(topic, ["a"])
    with pytest.raises(StreamingQueryException):
        drain(bench, sub, Seen(fail_in=1), tmp_path)
    bench.store.pull(sub).ack()
    bench.store.publish(topic, ["b", "c", "d"])
    seen = Seen()
    drain(bench, sub, seen, tmp_path, most=1)
    assert seen.batches == [(1, ["b"]), (2, ["c"]), (3, ["d"])]


@pytest.mark.trial
def test_process_may_answer_for_single_messages(bench: Bench, tmp_path: Path) -> None:
    topic, subscription = bench.pair(retry_policy=None)
    bench.store.publish(topic, ["a", "b", "c"])
    first = Seen()

    def process(df: DataFrame, batch_id: int) -> None:
        first(df, batch_id)
        if "b" in first.batches[-1][1] and len(first.batches) == 1:
            bad = df.where("string(data) = 'b'").select("ack_id")
            bench.store.modify_ack_deadline(subscription, bad, 0)

    drain(bench, subscription, process, tmp_path)
    assert undelivered(bench, subscription) == 1  # offered once in each run
    drain(bench, subscription, process, tmp_path)
    assert [batch for _, batch in first.batches] == [["a", "b", "c"], ["b"]]
    assert undelivered(bench, subscription) == 0


@pytest.mark.trial
def test_a_lease_is_extended_while_process_runs(bench: Bench, tmp_path: Path) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=10)
    bench.store.publish(topic, ["a"])
    started, done = Event(), Event()

    def process(df: DataFrame, batch_id: int) -> None:
        started.set()
        assert done.wait(60)

    query = start(bench, subscription, process, tmp_path)
    table = bench.ack_state_table(subscription)
    assert started.wait(60)
    for _ in range(2):  # each time by most of the deadline
        commits = bench.commits(table)
        bench.clock.advance(8)
        wait_until(partial(has_more_commits, bench, table, commits))
    assert bench.store.pull(subscription).message_count == 0
    done.set()
    # With an hour to the next micro-batch nothing else acknowledges it.
    wait_until(lambda: undelivered(bench, subscription) == 0)
    query.stop()


def start(bench: Bench, subscription: str, process: Any, at: Path) -> StreamingQuery:
    return bench.store.subscribe_stream(
        subscription,
        process,
        checkpoint_location=str(at),
        trigger={"processingTime": "1 hour"},
    )


@pytest.mark.trial
def test_stopping_a_query_is_no_failed_delivery(bench: Bench, tmp_path: Path) -> None:
    topic, dead = bench.topic(), bench.topic()
    subscription = bench.subscription(topic, dead_letter_policy=DeadLetterPolicy(dead))
    bench.store.publish(topic, ["a"])
    started = Event()

    def process(df: DataFrame, batch_id: int) -> None:
        started.set()
        slow = "java_method('java.lang.Thread', 'sleep', 60000L)"
        df.selectExpr(slow, "data").collect()

    query = start(bench, subscription, process, tmp_path)
    assert started.wait(60)
    time.sleep(1)
    query.stop()
    assert query.exception() is None
    (message,) = bench.store.pull(subscription)
    assert (message.data, message.delivery_attempt) == (b"a", 1)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"trigger": {"once": True}}, "trigger: {'once': True}"),
        ({"trigger": {"continuous": "1 second"}}, "availableNow"),
        ({"trigger": "1 second"}, "processingTime"),
        ({"checkpoint_location": " "}, "checkpoint_location: ' '"),
        ({"max_messages": 0}, "max_messages"),
        ({"process": "print"}, "process: 'print'"),
    ],
)
def test_a_query_refuses_what_it_cannot_do(
    bench: Bench, tmp_path: Path, arguments: dict[str, Any], wrong: str
) -> None:
    given: dict[str, Any] = {"process": Seen(), "checkpoint_location": str(tmp_path), **arguments}
    with pytest.raises(InvalidArgument, match=wrong):
        bench.store.subscribe_stream("absent", **given)


def test_a_query_does_not_go_on_with_a_later_subscription_of_the_name(
    bench: Bench, tmp_path: Path
) -> None:
    """Its sink has seen the batch ids, and would skip other messages under them."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    drain(bench, subscription, Seen(), tmp_path)
    bench.store.delete_subscription(subscription)
    bench.store.create_subscription(subscription, topic)
    bench.store.publish(topic, ["b"])
    for forget in (False, True):
        if forget:
            forget_last_commit(tmp_path)
        seen = Seen()
        with pytest.raises(StreamingQueryException, match="FailedPrecondition: checkpoint: it"):
            drain(bench, subscription, seen, tmp_path)
        assert seen.batches == []
        assert undelivered(bench, subscription) == 1


def test_a_query_needs_a_subscription_that_is_attached(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="absent"):
        bench.store.subscribe_stream("absent", Seen(), checkpoint_location=str(tmp_path))
    _, subscription = bench.pair()
    bench.store.detach_subscription(subscription)
    with pytest.raises(FailedPrecondition, match=subscription):
        bench.store.subscribe_stream(subscription, Seen(), checkpoint_location=str(tmp_path))


def test_every_micro_batch_is_published_exactly_once(bench: Bench, tmp_path: Path) -> None:
    topic, source, checkpoint = bench.topic(), str(tmp_path / "in"), tmp_path / "checkpoint"
    rows = bench.spark.range(5).selectExpr("string(id) AS data")

    def publish_more(store: PubSub = bench.store) -> None:
        rows.write.format("delta").mode("append").save(source)
        stream = bench.spark.readStream.format("delta").load(source)
        query = store.publish_stream(
            topic, stream, checkpoint_location=str(checkpoint), trigger=DRAIN
        )
        assert query.awaitTermination(120)

    publish_more()
    publish_more()
    assert bench.store.read_topic(topic).count() == 10
    # "also across a crash between append and checkpoint": Spark has not seen the batch end.
    for log in (checkpoint / "commits").glob("*1*"):
        log.unlink()
    publish_more()
    assert bench.store.read_topic(topic).count() == 15
    # What is known to have landed is done, whatever the log still tells.
    for log in (checkpoint / "commits").glob("*2*"):
        log.unlink()
    forget_commits(bench, topic)
    publish_more(bench.another())  # which remembers no commit either
    assert bench.store.read_topic(topic).count() == 20 + 1


def test_a_bad_message_ends_a_publishing_query_and_nothing_is_published(
    bench: Bench, tmp_path: Path
) -> None:
    topic, source = bench.topic(), str(tmp_path / "in")
    rows = bench.spark.sql(
        "SELECT string(id) AS data, map('goog', 'x') AS attributes FROM range(2)"
    )
    rows.write.format("delta").save(source)
    stream = bench.spark.readStream.format("delta").load(source)
    query = bench.store.publish_stream(
        topic, stream, checkpoint_location=str(tmp_path / "c"), trigger=DRAIN
    )
    with pytest.raises(StreamingQueryException, match="2 offending rows"):
        query.awaitTermination(120)
    assert bench.store.read_topic(topic).count() == 0
    for wrong, told in ((rows, "does not stream"), (stream.withColumn("x", stream.data), "'x'")):
        with pytest.raises(InvalidArgument, match=told):
            bench.store.publish_stream(topic, wrong, checkpoint_location=str(tmp_path / "d"))
    with pytest.raises(NotFound, match="absent"):
        bench.store.publish_stream("absent", stream, checkpoint_location=str(tmp_path / "e"))


@pytest.mark.trial
def test_a_stream_reads_along_from_a_version_or_a_time(bench: Bench, tmp_path: Path) -> None:
    topic = bench.topic()
    bench.store.publish(topic, ["old"])
    bench.clock.advance(86_400 * 2)
    since = bench.clock.now()
    bench.store.publish(topic, ["a", "b"])
    bench.clock.advance(86_400)
    bench.store.maintain()  # its DELETE adds no message
    bench.store.publish(topic, ["c"])

    def read(start: Any) -> list[str]:
        stream = bench.store.read_topic_stream(topic, start=start)
        assert stream.columns == [
            "message_id",
            "publish_time",
            "data",
            "attributes",
            "ordering_key",
        ]
        found: list[str] = []
        query = (
            stream.writeStream.foreachBatch(partial(gather, found))
            .option("checkpointLocation", str(tmp_path / str(start)))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        return sorted(found)

    assert read(None) == ["c"]  # nobody needed the others any more
    assert read(1) == ["a", "b", "c", "old"]
    assert read(since) == ["a", "b", "c"]
    assert read(since.isoformat()) == ["a", "b", "c"]
    with pytest.raises(InvalidArgument, match="start: 99"):
        bench.store.read_topic_stream(topic, start=99)


def gather(found: list[str], df: DataFrame, _: int) -> None:
    found += [row[0] for row in df.selectExpr("string(data)").collect()]
