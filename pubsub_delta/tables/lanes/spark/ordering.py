"""Partitions and sorts rows by ordering key."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def in_key_order(frame: DataFrame, order: Column) -> DataFrame:
    """Partition rows (ordering_key STRING, …) by key, and keep their order within each key.

    Rows without a key are spread evenly.
    """
    has_key = F.coalesce(F.col("ordering_key") != "", F.lit(False))
    spread = F.when(has_key, F.xxhash64("ordering_key")).otherwise(F.xxhash64(order))
    return frame.repartition(spread).sortWithinPartitions(order)
