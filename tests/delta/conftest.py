"""What tests of views share: a store for one test alone, and a schema of the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta.tables.lanes.choice import LaneName
from tests.conftest import Bench

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
