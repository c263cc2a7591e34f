"""What the log of a topic tells of its commits, and which positions a publish was given."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pubsub_delta import DataLoss, PubSub
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.layout import path_of
from pubsub_delta.tables.log import Log, counted_in_files
from pubsub_delta.tables.remembered import Remembered
from tests.conftest import Bench


def test_the_log_tells_what_the_files_hold(bench: Bench) -> None:
    """Delta's protocol: rows of a file are numbered from baseRowId on, numRecords of them."""
    topic = bench.topic()
    numbers = bench.spark.range(1000).select(F.col("id").cast("string").alias("data"))
    bench.store.publish(topic, numbers.repartition(3))
    bench.store.publish(topic, ["a", "b"])
    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid)
    reader = Log(bench.spark, messages.table, Remembered(bench.spark))
    told = {each.version: each.rows for each in reader.commits([1, 2])}
    assert told == counted_in_files(bench.spark.table(messages.table))
    assert told == {1: Positions.between(0, 999), 2: Positions.between(1000, 1001)}
    assert reader.commits([2, 3]) == [], "one of them is not in the log"
    assert reader.commits(list(range(257))) == [], "too many to open at once"
    bench.spark.sql(f"DELETE FROM {messages.table} WHERE publish_date > DATE'2000-01-01'")
    (deletion,) = reader.commits([3])
    assert (deletion.info["operation"], deletion.rows) == ("DELETE", None)


@pytest.mark.parametrize("texts", [["a"], ["a", "b", "c"]])
def test_a_log_on_disk_is_read_as_spark_reads_it(
    bench: Bench, request: pytest.FixtureRequest, texts: list[str]
) -> None:
    """Without a Spark job; where the disk is another machine's, or the log is odd, with one."""
    topic = bench.topic()
    bench.store.publish(topic, texts)
    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid)
    bench.spark.sql(f"DELETE FROM {messages.table} WHERE data = X'61'")
    reader = Log(bench.spark, messages.table, Remembered(bench.spark))

    def told() -> list[tuple[object, ...]]:
        names = ("operation", "operationMetrics", "userMetadata")
        found = sorted(reader.commits([0, 1, 2]), key=lambda each: each.version)
        return [(each.version, each.rows, *(each.info[n] for n in names)) for each in found]

    by_python, history = told(), messages.history._look(20)
    request.getfixturevalue("elsewhere")
    assert told() == by_python
    assert messages.history._look(20) == history
    assert [rows for _, rows, *_ in by_python] == [
        Positions(),
        Positions.between(0, len(texts) - 1),
        None,
    ]


def test_a_publish_is_found_where_it_is_expected_or_wherever_it_is(bench: Bench) -> None:
    """The commit after the last one that was seen, unless somebody else made that one."""
    topic = bench.topic()
    other = PubSub(bench.spark, bench.root, clock=bench.clock)
    assert list(bench.store.publish(topic, ["a"]).message_ids) == ["0"]
    assert list(bench.store.publish(topic, ["b"]).message_ids) == ["1"]
    other.publish(topic, ["c"])
    found = bench.store.publish(topic, ["d", "e"])
    assert (list(found.message_ids), found.message_count) == (["3", "4"], 2)


def test_messages_that_were_deleted_are_not_named_by_the_log(bench: Bench) -> None:
    """What a seek brings back, as of its moment, stands in files that may have changed since."""
    topic = bench.topic()
    bench.store.update_topic(topic, message_retention_duration="1d")
    subscription = bench.subscription(topic)
    bench.store.publish(topic, ["a", "b", "c"])
    bench.store.pull(subscription).ack()
    bench.store.seek(subscription, time=bench.clock.now() - timedelta(hours=1))
    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid)
    bench.spark.sql(f"DELETE FROM {messages.table} WHERE data = X'62'")
    assert [each.data for each in bench.store.pull(subscription)] == [b"a", b"c"]


def test_when_messages_were_published_the_log_tells_unless_some_may_be_deleted(
    bench: Bench,
) -> None:
    topic, times = bench.topic(), []
    for text in ("a", "b", "c", "d"):
        bench.clock.advance(60)
        times.append(bench.clock.now())
        bench.store.publish(topic, [text, text.upper()])
    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid)
    publishes = messages.history.publishes_within(times[1], times[2])
    assert publishes is not None
    assert [commit.version for commit in publishes] == [3, 2]
    between = messages.published_within(times[1], times[2] + timedelta(seconds=59))
    assert between == (Positions.between(2, 5), times[1])
    assert messages.published_within(times[3] + timedelta(seconds=1), times[3]) == (
        Positions(),
        None,
    )
    bench.spark.sql(f"DELETE FROM {messages.table} WHERE data = X'62'")
    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid)
    assert messages.history.publishes_within(times[1], times[2]) is None
    assert messages.published_within(times[1], times[2]) == (Positions.between(3, 5), times[1])


def test_a_pull_opens_no_file_and_reading_tells_of_one_that_is_gone(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    path = path_of(bench.store._tables.messages(bench.store.get_topic(topic).uid).table)
    assert path is not None
    for file in Path(path).glob("publish_date=*/*.parquet"):
        file.unlink()
    batch = bench.store.pull(subscription)
    assert batch.message_count == 1
    with pytest.raises(DataLoss, match="missing or damaged"):
        list(batch)


def test_a_root_that_reads_like_a_pattern_is_taken_as_it_is(bench: Bench, tmp_path: Path) -> None:
    """Spark reads [ab] in the path of a file as a or b; nothing may be looked for elsewhere."""
    store = PubSub(bench.spark, str(tmp_path / "a[b]*c"), clock=bench.clock)
    store.create_topic("topic")
    store.create_subscription("sub", "topic")
    store.publish("topic", ["x", "y"])
    assert [message.data for message in store.pull("sub")] == [b"x", b"y"]
