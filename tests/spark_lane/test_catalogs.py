"""Schemas of a catalog: where they are, and names that no schema can have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import FailedPrecondition, InvalidArgument, ManualClock, PubSub
from pubsub_delta.tables.lanes.spark import location_of_schema
from pubsub_delta.tables.layout import on_disk

V1 = "spark.sql.legacy.useV1Command"


@pytest.fixture
def v1(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Describe schemas as Spark 3.0 did, or as Spark does since."""
    spark.conf.set(V1, request.param)
    yield
    spark.conf.unset(V1)


@pytest.mark.parametrize("v1", ["false", "true"], indirect=True)
@pytest.mark.usefixtures("v1")
def test_the_locks_of_a_schema_are_in_its_directory_whatever_its_letters(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark tells the location as a URI, or as a path. Who reads it otherwise has other locks."""
    here = tmp_path / "a b%20c"
    spark.sql(f"CREATE SCHEMA pubsub_lane LOCATION '{here}'")
    try:
        location = location_of_schema(spark, "pubsub_lane")
        assert location is not None
        assert on_disk(location) == str(here)
    finally:
        spark.sql("DROP SCHEMA pubsub_lane CASCADE")


@pytest.mark.parametrize(
    "root", ["pubsub-dev", "`größe`", "`a b`", "`a.b`", "`a``b`", "no_such_catalog.pubsub"]
)
def test_a_name_that_no_schema_of_the_catalog_can_have_is_refused(
    spark: SparkSession, root: str
) -> None:
    """Spark's own error said nothing of the root, and was no error of this library."""
    store = PubSub(spark, root, clock=ManualClock())
    with pytest.raises(InvalidArgument, match=r"^root: .* cannot be a schema of this session"):
        store.list_topics()


def test_the_directory_of_a_schema_is_no_root(spark: SparkSession, tmp_path: Path) -> None:
    """A path root has its messages in `messages/`, and a schema has a table `messages_…`."""
    spark.sql(f"CREATE SCHEMA pubsub_lane LOCATION '{tmp_path}'")
    try:
        store = PubSub(spark, "pubsub_lane", clock=ManualClock())
        store.create_topic("orders")
        assert len(store.publish("orders", ["a"]).message_ids) == 1
        for opened in (spark, None):
            with pytest.raises(FailedPrecondition, match="open the store by its schema"):
                PubSub(opened, str(tmp_path)).publish("orders", ["b"])
    finally:
        spark.sql("DROP SCHEMA pubsub_lane CASCADE")
