"""Positions folded into bitmaps on the executors, so that no row per message reaches the driver."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.policy.positions import Positions

_BITS = 32_768
"""Positions in one of Spark's bitmaps, which count from 1."""

_FEW_RUNS = 32
_BROADCAST = 1_000_000
"""Positions that every executor can hold in a hash table."""


def fold(frame: DataFrame) -> dict[int, Positions]:
    """Return the positions by key of a DataFrame (key BIGINT, position BIGINT), none of them null.

    The executors send a bitmap of 4 kB for every 32,768 positions that are in use.
    """
    number = F.col("position") + 1
    folded = frame.groupBy("key", F.bitmap_bucket_number(number).alias("bucket")).agg(
        F.bitmap_construct_agg(F.bitmap_bit_position(number)).alias("bits")
    )
    found: dict[int, list[Positions]] = {}
    for row in folded.toArrow().to_pylist():
        part = Positions.from_bits((row["bucket"] - 1) * _BITS, row["bits"])
        found.setdefault(row["key"], []).append(part)
    return {key: Positions.union(parts) for key, parts in found.items()}


def holding(frame: DataFrame, positions: Positions) -> DataFrame:
    """Return the rows of a DataFrame (position BIGINT, …) whose position stands in the set.

    Few runs are compared in place; many are joined, as ranges that the executors spell out.
    """
    runs = positions.runs(limit=_FEW_RUNS + 1)
    if len(runs) <= _FEW_RUNS:
        wanted = F.lit(False)
        for first, last in runs:
            wanted |= F.col("position").between(first, last)
        return frame.where(wanted)
    runs = positions.runs()
    ranges = pa.table(
        {
            "first": pa.array((first for first, _ in runs), pa.int64()),
            "last": pa.array((last for _, last in runs), pa.int64()),
        }
    )
    listed = frame.sparkSession.createDataFrame(ranges).select(
        F.explode(F.sequence("first", "last")).alias("position")
    )
    small = len(positions) <= _BROADCAST
    return frame.join(F.broadcast(listed) if small else listed, "position", "left_semi")
