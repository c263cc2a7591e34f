"""The session for commits and looks of few rows, which a server has beside that for messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta import Message
from pubsub_delta.server.backend import StoreBackend
from pubsub_delta.session import SMALL_WORK_SETTINGS, is_remote, session_for_small_work
from pubsub_delta.tables import remembered
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


def test_a_server_commits_and_looks_in_it_and_reads_messages_in_the_other(bench: Bench) -> None:
    """Millions of rows take several times as long with its settings."""
    topic = bench.topic()
    backend = StoreBackend(bench.spark, bench.root, "local", bench.clock)
    tables = backend._tables
    assert tables.spark is bench.spark
    assert (tables.small is bench.spark) == is_remote(bench.spark)
    messages = tables.messages(bench.store.get_topic(topic).uid)
    small = (tables.registry, tables.ack_state_tables, messages.history)
    assert [each._spark is tables.small for each in small] == [True] * len(small)
    assert tables._commits._small is tables.small
    assert (messages._spark, tables._commits._spark) == (bench.spark, bench.spark)
    ids = backend.publisher(topic)([Message(b"a", {"k": "v"}), Message(b"b")])
    backend.close()
    stored = messages.everything().collect()
    assert sorted(row["message_id"] for row in stored) == sorted(ids)


class Asked:
    """A session that tells when it was asked something in SQL."""

    def __init__(self, spark: SparkSession, name: str, told: list[str]) -> None:
        self._spark, self._name, self._told = spark, name, told

    def sql(self, query: str, **frames: Any) -> DataFrame:
        self._told.append(self._name)
        return self._spark.sql(query, **frames)


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
