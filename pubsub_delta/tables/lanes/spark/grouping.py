"""Groups rows, and keeps the keys of the groups whatever the session says."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame


def grouped(frame: DataFrame, keys: Mapping[str, Column], *aggregates: Column) -> DataFrame:
    """Return the keys of each group by their names, and aggregates of its rows.

    Without ``spark.sql.retainGroupColumns`` Spark leaves out the columns by which it groups. So it
    groups by other names, and is asked for the keys beside the aggregates.
    """
    others = {f"_key_of_{name}": key for name, key in keys.items()}
    rows = frame.groupBy(*(key.alias(name) for name, key in others.items()))
    named = (key.alias(name) for name, key in keys.items())
    return rows.agg(*named, *aggregates).drop(*others)
