"""The rows of a table as they are stored now, whatever a session has cached of it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pubsub_delta.session import check_reading


def stored(spark: SparkSession, table: str) -> DataFrame:
    """Return all rows of a table; FailedPrecondition if the session would leave some out.

    A session that has cached the table answers each query of it from the cache, also after other
    programs or the direct lane have committed. So such a table is read by its version: Spark does
    not take the cache for that.
    """
    check_reading(spark)
    rows = spark.table(table)
    return newest(spark, table) if is_cached(rows) else rows


def is_cached(rows: DataFrame) -> bool:
    """Return whether the session has cached rows of this query, perhaps for another DataFrame."""
    level = rows.storageLevel
    return level.useMemory or level.useDisk


def newest(spark: SparkSession, table: str) -> DataFrame:
    """Return all rows of the newest version of a table."""
    version = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0]["version"]
    return spark.sql(f"SELECT * FROM {table} VERSION AS OF {version:d}")
