"""Sessions of platforms: what they refuse there is refused here by a stand-in around a session."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta import FailedPrecondition, ManualClock, PubSub
from pubsub_delta.jobs import readers, sources
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.spark import SparkLane, location_of_schema
from pubsub_delta.tables.schemas import TOPICS


class Hidden:
    """Settings that a platform neither tells nor lets anybody set."""

    def _refuse(self, key: str, *_: object) -> str:
        raise AnalysisException(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")

    get = set = _refuse

    @property
    def getAll(self) -> dict[str, str]:
        raise AnalysisException("[CONFIG_NOT_AVAILABLE] Configurations are not available.")


class Platform:
    """A session whose platform hides settings, and refuses some statements."""

    def __init__(self, spark: SparkSession, refused: str, words: str) -> None:
        self._spark = spark
        self._refused = refused
        self._words = words
        self.conf = Hidden()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def sql(self, statement: str, *args: Any, **kwargs: Any) -> DataFrame:
        if re.search(self._refused, statement):
            raise AnalysisException(self._words)
        return self._spark.sql(statement, *args, **kwargs)


NO_NAMESPACE = (
    "CREATE SCHEMA",
    "[PERMISSION_DENIED] User does not have CREATE SCHEMA on Catalog 'main'. SQLSTATE: 42501",
)


_JDBC = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    spark.sql("CREATE SCHEMA `2025pubsub`")  # digits first
    yield "2025pubsub"
    spark.sql("DROP SCHEMA `2025pubsub` CASCADE")


@pytest.mark.trial
def test_a_schema_that_is_there_is_used_by_who_may_not_create_one(
    spark: SparkSession, schema: str
) -> None:
    # "`CREATE SCHEMA` is not run where the schema is there", "a catalog that refuses
    # CreateNamespace"
    platform: Any = Platform(spark, *NO_NAMESPACE)
    store = PubSub(platform, schema, clock=ManualClock())
    store.create_topic("flights")
    store.create_subscription("delays", "flights")
    store.publish("flights", ["a", "b"])
    assert [each.data for each in store.pull("delays", 1)] == [b"a"]
    assert store.create_views().views == ("flights", "flights_delays_backlog")


def test_a_schema_that_is_not_there_and_may_not_be_created_is_refused_in_the_catalogs_words(
    spark: SparkSession,
) -> None:
    platform: Any = Platform(spark, *NO_NAMESPACE)
    lane = SparkLane(platform, TableLocks(None))
    with pytest.raises(FailedPrecondition, match="does not have CREATE SCHEMA on Catalog"):
        lane.create("`no_such`.`topics`", TOPICS)
    with pytest.raises(FailedPrecondition, match="does not have CREATE SCHEMA on Catalog"):
        location_of_schema(platform, "`no_such`")


def test_a_schema_is_created_where_it_is_not_there(spark: SparkSession) -> None:
    lane = SparkLane(spark, TableLocks(None))
    with pytest.raises(TableMissing):
        lane.version("`made_here`.`topics`")
    lane.create("`made_here`.`topics`", TOPICS)
    assert lane.version("`made_here`.`topics`") == 0
    spark.sql("DROP SCHEMA made_here CASCADE")


def test_a_path_that_a_platform_refuses_is_told_with_what_to_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "a path it refuses"
    words = (
        "[INSUFFICIENT_PERMISSIONS] Insufficient privileges: User does not have SELECT on any file."
    )
    platform: Any = Platform(spark, r"delta\.`", words)
    lane = SparkLane(platform, TableLocks(None))
    with pytest.raises(
        FailedPrecondition, match="this session has no permission for it"
    ) as refused:
        lane.create(f"delta.`{tmp_path}/topics`", TOPICS)
    assert "SELECT on any file" in str(refused.value)
    assert "another root" in str(refused.value)


def test_types_of_csv_are_not_found_out_where_times_would_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "Reading a setting that the platform hides is guarded"
    (tmp_path / "a.csv").write_text("at\n2026-03-08 02:30:00\n")
    platform: Any = Platform(spark, "^$", "")
    source = sources.Source(str(tmp_path / "a.csv"), "csv", (str(tmp_path / "a.csv"),))
    rows = readers.read(platform, source, readers.ReadOptions()).good
    assert [row["at"] for row in rows.collect()] == ["2026-03-08 02:30:00"]
    with pytest.raises(
        FailedPrecondition, match=r"does not allow setting spark\.sql\.timestampType"
    ):
        readers.read(platform, source, readers.ReadOptions(infer=True))


@pytest.mark.parametrize("starts", [False, True], ids=["given", "started"])
def test_a_store_stays_in_its_catalog_whatever_catalog_the_session_takes_later(
    spark: SparkSession, schema: str, starts: bool
) -> None:
    """ "Messages must not reach whom they do not belong to": other catalogs have such a schema."""
    session = spark.newSession()
    store = PubSub((lambda: session) if starts else session, schema)
    store.create_topic("orders")
    session.conf.set("spark.sql.catalog.other", _JDBC)
    session.conf.set("spark.sql.catalog.other.url", "jdbc:derby:memory:other;create=true")
    session.sql("USE other")
    assert session.catalog.currentCatalog() == "other"
    store.create_subscription("billing", "orders")
    store.publish("orders", [b"tea"])
    assert [message.data for message in store.pull("billing")] == [b"tea"]
