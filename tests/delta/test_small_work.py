"""The session for commits and looks of few rows, which a store has beside the caller's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta.operations import publish
from pubsub_delta.session import (
    SMALL_WORK_SETTINGS,
    few_rows,
    is_remote,
    session_for_small_work,
)
from pubsub_delta.tables import remembered
from pubsub_delta.tables.commits import Commits
from pubsub_delta.tables.remembered import Remembered
from tests.conftest import Bench

RUNTIME = {
    "spark.databricks.delta.history.metricsEnabled": "false",
    "fs.azure.account.key.example.dfs.core.windows.net": "a key",
}
"""A setting of Delta's and one of Hadoop's that nobody looks at here."""


@contextmanager
def changed(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def test_it_has_the_settings_of_the_session_beside_it_and_those_for_small_work(
    bench: Bench,
) -> None:
    """It takes over the settings and the catalog that the other one has now, which stays as it is.

    Whatever gives access to a store has been set in the session that was handed over.
    """
    spark = bench.spark
    bench.topic()  # Delta completes the settings of a session when it is used first
    with changed(spark, RUNTIME):
        before = spark.conf.getAll
        assert before.items() >= RUNTIME.items()
        small = session_for_small_work(spark)
        assert spark.conf.getAll == before
    assert small is not spark
    assert small.conf.getAll == {**before, **SMALL_WORK_SETTINGS}
    assert small.catalog.currentCatalog() == spark.catalog.currentCatalog()


def test_a_store_looks_in_it_and_reads_messages_in_the_callers(bench: Bench) -> None:
    """Millions of rows take several times as long with its settings."""
    topic = bench.topic()
    tables = bench.store._tables
    assert tables.spark is bench.spark
    assert (tables.small is bench.spark) == is_remote(bench.spark)
    messages = tables.messages(bench.store.get_topic(topic).uid)
    small = (tables.registry, tables.ack_state_tables, messages.history)
    assert [each._spark is tables.small for each in small] == [True] * len(small)
    assert messages._spark is bench.spark


def test_messages_are_written_in_it_where_they_are_few(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given one by one, 10,000 or fewer: each costs more there, a commit less."""
    tables = bench.store._tables
    assert publish._FEW == 10_000
    monkeypatch.setattr(publish, "_FEW", 2)
    few, more = (publish._rows_of(tables, ["a"] * number) for number in (2, 3))
    assert (few.sparkSession, more.sparkSession) == (tables.small, tables.spark)


def test_the_callers_session_stays_the_active_one(bench: Bench) -> None:
    """PySpark makes a session the active one of all threads when it creates a DataFrame."""
    spark, store = bench.spark, bench.store
    seen: list[SparkSession | None] = []
    done = Event()

    def look() -> None:
        spark.createDataFrame([], "a int")
        while not done.wait(0.001):
            seen.append(SparkSession.getActiveSession())

    looking = Thread(target=look)
    looking.start()
    topic, subscription = bench.pair()
    store.publish(topic, ["a", "b"])
    store.pull(subscription, max_messages=1).ack()
    store.seek(subscription, time=bench.clock.now())
    done.set()
    looking.join()
    assert len(seen) > 10
    assert set(seen) == {spark}
    assert SparkSession.getActiveSession() is spark


def test_nothing_is_left_of_the_views_by_which_rows_are_handed_over(bench: Bench) -> None:
    """A view that all sessions see carries them from the caller's session, for a moment."""
    spark = bench.spark
    small = session_for_small_work(spark)
    rows = pa.table({"n": [1, 2], "data": [b"a", None]})
    frame = few_rows(spark, small, rows)
    assert frame.sparkSession is small
    assert [tuple(row) for row in frame.collect()] == [(1, b"a"), (2, None)]
    views = spark.sql("SHOW VIEWS IN global_temp").where("namespace != ''").collect()
    assert views == []


class Asked:
    """A session that tells when it was asked something in SQL."""

    def __init__(self, spark: SparkSession, name: str, told: list[str]) -> None:
        self._spark, self._name, self._told = spark, name, told

    def sql(self, query: str, **frames: Any) -> DataFrame:
        self._told.append(self._name)
        return self._spark.sql(query, **frames)


def test_whole_tables_are_rewritten_in_the_callers_session(bench: Bench) -> None:
    """DELETE, OPTIMIZE and VACUUM may have millions of rows to read and to write."""
    topic = bench.topic()
    bench.store.publish(topic, ["a"])
    tables, told = bench.store._tables, list[str]()
    table = tables.messages(bench.store.get_topic(topic).uid).table
    small, large = (Asked(bench.spark, name, told) for name in ("small", "large"))
    make: Any = Commits
    commits = make(large, small, tables._layout)
    commits.version(table)
    commits.delete_where(table, "publish_date < DATE'2000-01-01'")
    commits.optimize(table)
    commits.vacuum(table)
    assert told == ["small", "large", "large", "large"]


def test_a_table_of_many_files_is_put_together_by_generated_code(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 4,000 files on: so many there were at the last look."""
    topic = bench.topic()
    bench.store.publish(topic, ["a"])
    table = bench.store._tables.messages(bench.store.get_topic(topic).uid).table
    told: list[str] = []
    small, large = (Asked(bench.spark, name, told) for name in ("small", "large"))
    looks: Any = Remembered
    found = looks(small, many_files=large)
    assert remembered.MANY_FILES == 4_000
    for most in (1, 0, 0, 1):
        monkeypatch.setattr(remembered, "MANY_FILES", most)
        found.look(table)
    assert told == ["small", "large", "large", "small"]
