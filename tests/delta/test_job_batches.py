"""What jobs/publish.py publishes as the batches of a column: each row is in one of them."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta.jobs.publish import split

CASES = {
    "texts that are no UTF-8": (
        "CAST(CASE id % 3 WHEN 0 THEN X'4BF66C6E' WHEN 1 THEN X'4BE46C6E' "
        "ELSE CAST('Köln' AS BINARY) END AS STRING)",
        ["run/value=K%C3%B6ln", "run/value=K%E4ln", "run/value=K%F6ln"],
    ),
    "early dates": (
        "CASE id % 3 WHEN 0 THEN DATE'0001-01-01' WHEN 1 THEN DATE'1582-10-10' END",
        ["run/value", "run/value=0001-01-01", "run/value=1582-10-10"],
    ),
    "truth values": (
        "CASE id % 3 WHEN 0 THEN true WHEN 1 THEN false END",
        ["run/value", "run/value=false", "run/value=true"],
    ),
    "numbers": ("INT(id % 3) - 1", ["run/value=-1", "run/value=0", "run/value=1"]),
    "bytes": (
        "CASE id % 3 WHEN 0 THEN X'FF' WHEN 1 THEN X'' END",
        ["run/value", "run/value=", "run/value=FF"],
    ),
    "fractions": (
        "CASE id % 3 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN -0D ELSE 0D END",
        ["run/value=-0.0", "run/value=0.0", "run/value=NaN"],
    ),
    "times": (
        "CASE id % 3 WHEN 0 THEN timestamp_micros(0) WHEN 1 THEN timestamp_micros(-1) END",
        ["run/value", "run/value=-1", "run/value=0"],
    ),
}


@pytest.mark.parametrize(("values", "ids"), CASES.values(), ids=CASES)
def test_each_row_is_in_the_batch_of_its_value(
    spark: SparkSession, values: str, ids: list[str]
) -> None:
    # "With --batch-by, jobs/publish.py publishes each value of the column once"
    rows = spark.sql(f"SELECT id, {values} AS value FROM range(0, 9)")
    batches = [(name[0], numbers(batch)) for name, batch in split(rows, "value", "run") if name]
    assert sorted(name for name, _ in batches) == ids
    assert sorted(tuple(batch) for _, batch in batches) == [(0, 3, 6), (1, 4, 7), (2, 5, 8)]


def numbers(rows: DataFrame) -> list[int]:
    return sorted(row["id"] for row in rows.select("id").collect())
