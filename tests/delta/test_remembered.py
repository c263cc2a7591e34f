"""What was read of tables is remembered, but never for longer than it is true."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.jobs import jobs_of
from pubsub_delta import FailedPrecondition, Message, NotFound
from pubsub_delta.server.backend import StoreBackend
from pubsub_delta.session import is_remote
from pubsub_delta.tables.remembered import SETTLED, Remembered
from tests.conftest import Bench

WHOLE_SECOND = 1_700_000_000_000
FINE = WHOLE_SECOND + 123
"""Times of files in milliseconds."""


class Asked:
    """A table that is asked for its rows, at times that the test tells."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark, self.table = spark, f"delta.`{directory}/table`"
        self.log = directory / "table" / "_delta_log"
        self.seconds, self.reads = 0.0, 0
        self.remembered = Remembered(spark, lambda: self.seconds, self.sleep)
        spark.sql(f"CREATE TABLE {self.table} (n INT) USING DELTA")

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def ask(self) -> int:
        def read() -> int:
            self.reads += 1
            return self.spark.table(self.table).count()

        return self.remembered.recall(self.table, "count", read)

    def insert(self) -> None:
        self.spark.sql(f"INSERT INTO {self.table} VALUES (1)")

    def date(self, version: int, milliseconds: int) -> None:
        """Tell the file system another time of a commit."""
        os.utime(self.log / f"{version:020}.json", ns=(0, milliseconds * 1_000_000))


@pytest.mark.usefixtures("elsewhere")
def test_an_answer_is_remembered_until_somebody_commits(
    spark: SparkSession, tmp_path: Path
) -> None:
    asked = Asked(spark, tmp_path)
    asked.date(0, FINE)
    assert [asked.ask(), asked.ask(), asked.reads] == [0, 0, 1]
    assert 0 < asked.seconds < 0.1  # the clock of the file has ticked before it was read
    asked.insert()
    asked.date(1, FINE + 1)
    assert [asked.ask(), asked.ask(), asked.reads] == [1, 1, 2]


@pytest.mark.usefixtures("elsewhere")
def test_commits_with_the_same_mark_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    """Object stores that tell times in seconds give two quick commits the same time."""
    asked = Asked(spark, tmp_path)
    asked.insert()
    asked.date(1, WHOLE_SECOND)
    assert asked.ask() == 1
    files = spark.table(asked.table).inputFiles()
    asked.spark.sql(f"INSERT OVERWRITE {asked.table} VALUES (1)")  # as many files, as many bytes
    asked.date(2, WHOLE_SECOND)
    assert spark.table(asked.table).inputFiles() != files
    asked.seconds += SETTLED / 2
    assert [asked.ask(), asked.ask(), asked.reads] == [1, 1, 3]
    asked.seconds += SETTLED / 2
    assert [asked.ask(), asked.ask(), asked.reads] == [1, 1, 4]


def test_on_disk_a_commit_is_seen_without_delta_and_at_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of two commits are two files, whatever their times; so nothing is waited for."""
    asked = Asked(spark, tmp_path)
    assert asked.remembered.newest(asked.table) is not None  # Delta is asked for the place, once
    monkeypatch.delattr(Remembered, "look")
    assert [asked.ask(), asked.ask(), asked.reads] == [0, 0, 1]
    for version in (1, 2):
        asked.spark.sql(f"INSERT OVERWRITE {asked.table} VALUES (1)")
        asked.date(version, WHOLE_SECOND)
        assert [asked.ask(), asked.ask(), asked.reads] == [1, 1, version + 1]
    assert asked.seconds == 0


def test_a_path_of_another_file_system_is_not_looked_for_on_disk(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark takes /data for hdfs://host/data where HDFS is its usual file system."""
    asked = Asked(spark, tmp_path)
    there = {"location": f"hdfs://host{tmp_path}/table"}
    monkeypatch.setattr(Remembered, "look", lambda *_: there)
    assert asked.remembered.directory(asked.table) is None
    monkeypatch.setattr(Remembered, "look", lambda *_: None)
    asked = Asked(spark, tmp_path / "another")
    assert asked.remembered.directory(asked.table) is None, "not there yet: nobody can tell"
    monkeypatch.undo()
    found = asked.remembered.directory(asked.table)
    assert found == (None if is_remote(spark) else tmp_path / "another/table")


def test_a_table_that_is_not_there_is_asked_each_time(spark: SparkSession, tmp_path: Path) -> None:
    remembered, asked = Remembered(spark, lambda: 0.0), []
    for _ in range(2):
        remembered.recall(f"delta.`{tmp_path}/none`", "?", lambda: asked.append(1))
    assert len(asked) == 2


@pytest.mark.trial
@pytest.mark.usefixtures("jobs_are_counted")
def test_idling_commits_nothing_and_runs_no_spark_job(bench: Bench) -> None:
    """Nothing available is legal, not an error; and it is cheap."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    bench.store.pull(subscription).ack()
    commits = bench.commits(bench.ack_state_table(subscription))
    bench.store.pull(subscription)
    time.sleep(SETTLED)
    bench.store.pull(subscription)
    jobs, batch = jobs_of(bench.spark, lambda: bench.store.pull(subscription))
    assert (batch.message_count, jobs) == (0, [])
    assert bench.commits(bench.ack_state_table(subscription)) == commits
    bench.store.publish(topic, ["b"])
    assert bench.store.pull(subscription).message_count == 1


@pytest.mark.usefixtures("jobs_are_counted", "elsewhere")
def test_the_positions_of_a_publish_are_looked_up_once(bench: Bench) -> None:
    """Each subscription absorbs them; which positions they have, no later commit changes."""
    topic, first = bench.pair()
    second, third = bench.subscription(topic), bench.subscription(topic)
    bench.store.publish(topic, ["a", "b", "c"])
    looking, _ = jobs_of(bench.spark, lambda: bench.store.pull(first))
    without, batch = jobs_of(bench.spark, lambda: bench.store.pull(second))
    assert batch.message_count == 3
    looks = [any("tables/log.py" in job for job in jobs) for jobs in (looking, without)]
    assert looks == [True, False]
    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid)
    bench.spark.sql(f"DELETE FROM {messages.table} WHERE data = X'62'")  # as retention may
    assert [each.data for each in bench.store.pull(third)] == [b"a", b"c"]


@pytest.mark.usefixtures("jobs_are_counted")
@pytest.mark.parametrize(("on_disk", "number"), [(True, 1), (False, 2)])
def test_a_server_publishes_by_one_job_and_looks_up_the_ids_by_another(
    bench: Bench, request: pytest.FixtureRequest, on_disk: bool, number: int
) -> None:
    """A reply waits for no more: what Delta prepares for the next publish, it does meanwhile.

    On the driver's disk the ids are read without a job.
    """
    if not on_disk:
        request.getfixturevalue("elsewhere")
    topic = bench.topic()
    backend = StoreBackend(bench.spark, bench.root, "local", bench.clock)
    messages = [Message(b"a"), Message(b"b")]
    for _ in range(2):
        first = backend.publisher(topic)(messages)
        backend._tables.ahead._thread.submit(lambda: None).result()
    jobs, ids = jobs_of(bench.spark, lambda: backend.publisher(topic)(messages))
    assert ([int(each) for each in ids], len(jobs)) == ([int(each) + 2 for each in first], number)
    backend.close()


@pytest.mark.trial
def test_a_change_by_another_process_is_noticed_at_once(bench: Bench) -> None:
    topic, subscription = bench.pair()
    gone = bench.subscription(topic)
    for name in (subscription, gone):
        bench.store.pull(name)
    time.sleep(SETTLED)
    for name in (subscription, gone, gone):
        bench.store.pull(name)
    other = bench.another()
    other.publish(topic, ["from elsewhere"])
    assert bench.store.pull(subscription).message_count == 1
    other.detach_subscription(subscription)
    other.delete_subscription(gone)
    with pytest.raises(FailedPrecondition, match="is detached"):
        bench.store.pull(subscription)
    with pytest.raises(NotFound, match="does not exist"):
        bench.store.pull(gone)
