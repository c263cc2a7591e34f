"""What tests share: stores for one test alone, and a schema of the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta.session import is_remote
from pubsub_delta.tables.lanes.choice import LaneName
from tests.conftest import Bench
from tests.delta.live import Live

_numbers = count()


@pytest.fixture
def own_bench(spark: SparkSession, tmp_path: Path, lane: LaneName) -> Iterator[Bench]:
    """A store for one test alone; its temporary views go with it."""
    yield Bench(spark, str(tmp_path), lane)
    for row in spark.sql("SHOW VIEWS").collect():
        if row["isTemporary"]:
            spark.catalog.dropTempView(row["viewName"])


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """A schema that is dropped with all views in it."""
    name = f"bi{next(_numbers)}"
    spark.sql(f"CREATE SCHEMA {name}")
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def live(spark: SparkSession, tmp_path: Path) -> Live:
    """A store by the machine's clock, for Spark's data source."""
    if is_remote(spark):
        pytest.skip("the files are where the server looks for them")
    return Live(spark, tmp_path)
