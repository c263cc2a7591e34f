"""Rows laid out in the order of their keys."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def in_key_order(frame: DataFrame, order: Column) -> DataFrame:
    """Lay rows (ordering_key STRING, …) out so that each key's stand in one partition, in order.

    Rows without a key are spread evenly.
    """
    has_key = F.coalesce(F.col("ordering_key") != "", F.lit(False))
    spread = F.when(has_key, F.xxhash64("ordering_key")).otherwise(F.xxhash64(order))
    return frame.repartition(spread).sortWithinPartitions(order)
