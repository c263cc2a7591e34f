"""Converts positions to bitmaps on the executors, and bitmaps to DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.clock import from_micros
from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.spark.errors import collected
from pubsub_delta.tables.lanes.spark.grouping import grouped

_BITS = 32_768
"""Positions of one Spark bitmap (a bucket). Spark numbers positions and buckets from 1."""

_FEW_RUNS = 32
_FEW_BUCKETS = 16_384
"""The most bitmaps that are broadcast to the executors: 64 MB."""
_FEW_POSITIONS = 1 << 24
"""The most positions that the driver collects as numbers: 128 MB, without a shuffle."""


def fold(frame: DataFrame, most: int | None = None) -> Positions:
    """Return the positions of a DataFrame (position BIGINT NOT NULL, …).

    ``most``: the most rows that it may have, if known. The driver collects few positions as
    numbers, and many as 64-bit words of a bitmap.
    """
    if most is not None and most <= _FEW_POSITIONS:
        return Positions.from_array(collected(frame.select("position"))["position"].to_numpy())
    words = _words(frame, {})
    return Positions.from_words(*_numbers(words, "word", "bits"))


def fold_named(frame: DataFrame) -> tuple[dict[int, Positions], list[str | None]]:
    """Return the positions by lease of a DataFrame (lease BIGINT, position BIGINT, ack_id STRING).

    The second value is the distinct ack ids of the rows without a lease. Spark reads the DataFrame
    once.
    """
    unnamed = F.when(F.col("lease").isNull(), F.col("ack_id"))
    words = _words(frame, {"lease": F.col("lease"), "unnamed": unnamed})
    is_named = words["lease"].is_valid()
    foreign = words.filter(pc.invert(is_named))["unnamed"].to_pylist()
    return _by_key(words.filter(is_named), "lease"), foreign


def _words(frame: DataFrame, keys: Mapping[str, Column]) -> pa.Table:
    """Return the positions of a DataFrame as 64-bit words, grouped by ``keys``.

    Bit i of ``bits`` means the position 64 · ``word`` + i. Spark aggregates words in a hash table,
    but would sort all rows for ``bitmap_construct_agg``. A word takes 24 bytes on the driver.
    """
    bits = F.bit_or(F.expr("shiftleft(1L, int(position & 63))")).alias("bits")
    return collected(grouped(frame, {**keys, "word": F.expr("position >> 6")}, bits))


def _by_key(words: pa.Table, key: str) -> dict[int, Positions]:
    keys, numbers, bits = _numbers(words, key, "word", "bits")
    order = np.argsort(keys)
    found, starts = np.unique(keys[order], return_index=True)
    # Without rows there is one part.
    parts = zip(found.tolist(), np.split(order, starts[1:]), strict=False)
    return {each: Positions.from_words(numbers[part], bits[part]) for each, part in parts}


def _numbers(words: pa.Table, *columns: str) -> list[np.ndarray]:
    return [words[column].to_numpy() for column in columns]


def fold_by_time(frame: DataFrame) -> Iterator[Absorbed]:
    """Return the messages of a DataFrame (position BIGINT, publish_time TIMESTAMP, …) by bucket.

    The messages of a bucket have close positions, so they have close publish times. A bucket
    without gaps, the usual case, is collected as its first and last position.
    """
    first, last = F.min("position"), F.max("position")
    parts = grouped(
        frame,
        {"bucket": _bucket()},
        first.alias("first"),
        last.alias("last"),
        F.when(last - first + 1 > F.count("*"), _bits()).alias("bits"),
        F.unix_micros(F.min("publish_time")).alias("earliest"),
        F.unix_micros(F.max("publish_time")).alias("latest"),
    )
    for row in collected(parts).to_pylist():
        whole = row["bits"] is None
        positions = Positions.between(row["first"], row["last"]) if whole else _positions(row)
        yield Absorbed(positions, from_micros(row["earliest"]), from_micros(row["latest"]))


def at_positions(frame: DataFrame, positions: Positions) -> DataFrame:
    """Return the rows of a DataFrame (position BIGINT, …) whose position is in the set."""
    return labelled(frame, {0: positions}, "label").drop("label")


def labelled(frame: DataFrame, groups: Mapping[int, Positions], label: str) -> DataFrame:
    """Return the rows whose position is in one of some disjoint sets, with the set's number as INT.

    Few runs become conditions on ``position``. Many are joined as bitmaps of 32,768 positions.
    """
    runs = {number: each.runs(limit=_FEW_RUNS + 1) for number, each in groups.items() if each}
    if sum(map(len, runs.values())) <= _FEW_RUNS:
        tests = {number: _within(found) for number, found in runs.items()}
        if len(tests) == 1:
            ((number, test),) = tests.items()
            return frame.where(test).withColumn(label, F.lit(number))
        numbers = F.lit(None).cast("int")
        for number, test in tests.items():
            numbers = F.when(F.expr(test), F.lit(number)).otherwise(numbers)
        return frame.withColumn(label, numbers).where(F.col(label).isNotNull())
    bitmaps = pa.concat_tables(_bitmaps(number, each) for number, each in groups.items() if each)
    looked_up = _frame(frame.sparkSession, bitmaps, label)
    bucket = F.shiftright("position", 15) == F.col("_bucket")
    is_set = F.expr("getbit(get(_words, int((position >> 6) & 511)), int(position & 63)) = 1")
    return frame.join(looked_up, bucket & is_set).drop("_bucket", "_words")


def _within(runs: list[tuple[int, int]]) -> str:
    return " OR ".join(f"(position >= {first:d} AND position <= {last:d})" for first, last in runs)


def _frame(spark: SparkSession, bitmaps: pa.Table, label: str) -> DataFrame:
    frame = spark.createDataFrame(bitmaps).withColumnRenamed("label", label)
    return F.broadcast(frame) if bitmaps.num_rows <= _FEW_BUCKETS else frame


def _bitmaps(number: int, positions: Positions) -> pa.Table:
    """Return a set as rows: the number of a bucket, and its bitmap in 512 words."""
    buckets: list[np.ndarray] = []
    words: list[np.ndarray] = []
    for found, bits in positions.bits_by(_BITS):
        buckets.append(found)
        words.append(bits.view(np.int64))
    where = np.concatenate(buckets)
    offsets = np.arange(len(where) + 1, dtype=np.int32) * (_BITS // 64)
    return pa.table(
        {
            "_bucket": pa.array(where.astype(np.int64)),
            "_words": pa.ListArray.from_arrays(offsets, np.concatenate(words)),
            "label": pa.array(np.full(len(where), number, dtype=np.int32)),
        }
    )


def _positions(row: Mapping[str, Any]) -> Positions:
    return Positions.from_bits((row["bucket"] - 1) * _BITS, row["bits"])


def _bucket() -> Column:
    return F.bitmap_bucket_number(F.col("position") + 1)


def _bits() -> Column:
    return F.bitmap_construct_agg(F.bitmap_bit_position(F.col("position") + 1))
