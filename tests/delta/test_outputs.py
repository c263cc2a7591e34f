"""Several jobs that append to one table, each of which may be the one that creates it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pubsub_delta import InvalidArgument, PubSub
from pubsub_delta.jobs import outputs


def test_a_table_that_another_job_creates_meanwhile_is_appended_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    # Delta: "This happens when multiple writers are writing to an empty directory."
    output = str(tmp_path / "out")

    def while_they_are_written(rows: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        if not DeltaTable.is_deltatable(output):
            write_deltalake(output, pa.table({"id": pa.array([9], pa.int64())}))
        yield from rows

    # One task: two would both find no table, and one of them could not create it.
    rows = spark.range(0, 2, 1, 1).mapInPandas(while_they_are_written, "id bigint")
    outputs.append(rows, output, merge_schema=False)
    found = DeltaTable(output).to_pyarrow_table()["id"].to_pylist()
    assert sorted(found) == [0, 1, 9], "each once"


def test_a_table_of_the_catalog_may_be_created_meanwhile_too(
    spark: SparkSession, schema: str, tmp_path: Path
) -> None:
    began, created = tmp_path / "began", tmp_path / "created"

    def while_they_are_written(rows: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        began.touch()
        while not created.exists():
            time.sleep(0.05)
        yield from rows

    rows = spark.range(0, 2, 1, 1).mapInPandas(while_they_are_written, "id bigint")
    with ThreadPoolExecutor() as jobs:
        job = jobs.submit(outputs.append, rows, f"{schema}.out", merge_schema=False)
        while not began.exists():
            time.sleep(0.05)
        spark.sql(f"CREATE TABLE {schema}.out USING delta AS SELECT 9L AS id")
        created.touch()
        job.result()
    assert sorted(row["id"] for row in spark.table(f"{schema}.out").collect()) == [0, 1, 9]


def test_a_query_is_checked_on_the_columns_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """``PulledBatch.df`` has them, with these types."""
    store = PubSub(spark, str(tmp_path))
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    assert spark.createDataFrame([], outputs.MESSAGES).dtypes == store.pull("billing").df.dtypes
    store.publish("orders", [b"tea"])
    assert spark.createDataFrame([], outputs.MESSAGES).dtypes == store.pull("billing").df.dtypes


def test_where_a_file_is_no_table_is_made_and_that_is_told_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "Bad input gets a clear error": a job ends with exit code 3, not with a traceback
    (tmp_path / "taken").write_text("a file")
    output = str(tmp_path / "taken")
    with pytest.raises(InvalidArgument, match=f"--output: '{output}' cannot be written: "):
        outputs.append(spark.range(1), output, merge_schema=False)
