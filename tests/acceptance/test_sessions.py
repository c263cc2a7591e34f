"""Sessions that the library did not build, in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.processes import python

pytestmark = pytest.mark.trial

WITHOUT_DELTA = """
import json, os, warnings
from pyspark.sql import SparkSession
from pubsub_delta import FailedPrecondition, PubSub
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.memory", "1g").getOrCreate()
told = []
try:
    PubSub(spark, "./store")
except FailedPrecondition as error:
    told.append(str(error))
os.environ["DATABRICKS_RUNTIME_VERSION"] = "18.0"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    PubSub(spark, "./store")
told += [f"{each.category.__name__}: {each.message}" for each in caught]
print(json.dumps(told))
"""


def test_a_session_without_delta_is_refused_and_one_of_databricks_is_not(tmp_path: Path) -> None:
    """Databricks' own Delta does not stand in spark.sql.extensions; its slow settings are told."""
    process = python(WITHOUT_DELTA, cwd=tmp_path)
    refused, *warned = json.loads(process.communicate(timeout=120)[0].splitlines()[-1])
    assert refused.startswith("the Spark session has no Delta: spark.sql.extensions is ''")
    assert "DeltaSparkSessionExtension" in refused
    (slow,) = warned
    assert slow.startswith("SlowSettings: ")
    assert "spark.databricks.delta.snapshotPartitions=1" in slow
    assert "spark.sql.maxConcurrentOutputFileWriters=4" in slow
    assert "spark.sql.codegen.cache.maxEntries=1000" in slow
