"""Positions as bits on the executors: 64 or more in what goes to the driver, and from it."""

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

_BITS = 32_768
"""Positions in one of Spark's bitmaps, a bucket. Spark counts positions and buckets from 1."""

_FEW_RUNS = 32
_FEW_BUCKETS = 16_384
"""Bitmaps that every executor can hold: 64 MB."""
_FEW_POSITIONS = 1 << 24
"""Positions that the driver takes as they are: 128 MB, and no shuffle."""


def fold(frame: DataFrame, most: int | None = None) -> Positions:
    """Return the positions of a DataFrame (position BIGINT, …), none of them null.

    ``most``: how many rows it may have, where that is known. The executors send few positions as
    they are, of many a word of 64 bits for every 64 positions that are in use.
    """
    if most is not None and most <= _FEW_POSITIONS:
        return Positions.from_array(collected(frame.select("position"))["position"].to_numpy())
    words = _words(frame)
    return Positions.from_words(*_numbers(words, "word", "bits"))


def fold_named(frame: DataFrame) -> tuple[dict[int, Positions], list[str | None]]:
    """Return the positions by lease of a DataFrame (lease BIGINT, position BIGINT, ack_id STRING).

    Where the lease is null, the distinct ack ids are returned as they are. It is read once.
    """
    unnamed = F.when(F.col("lease").isNull(), F.col("ack_id")).alias("unnamed")
    words = _words(frame, "lease", unnamed)
    is_named = words["lease"].is_valid()
    foreign = words.filter(pc.invert(is_named))["unnamed"].to_pylist()
    return _by_key(words.filter(is_named), "lease"), foreign


def _words(frame: DataFrame, *keys: str | Column) -> pa.Table:
    """Return the positions of a DataFrame by some keys: in ``bits``, from 64 · ``word`` on.

    Bits of a number are gathered in a hash table. Spark's own ``bitmap_construct_agg`` would have
    it sort all rows first. The driver gets 24 bytes for each: at most three times those bitmaps.
    """
    bits = F.bit_or(F.expr("shiftleft(1L, int(position & 63))")).alias("bits")
    found = frame.groupBy(*keys, F.expr("position >> 6").alias("word")).agg(bits)
    return collected(found)


def _by_key(words: pa.Table, key: str) -> dict[int, Positions]:
    keys, numbers, bits = _numbers(words, key, "word", "bits")
    order = np.argsort(keys)
    found, starts = np.unique(keys[order], return_index=True)
    parts = zip(found.tolist(), np.split(order, starts[1:]), strict=False)  # one part of nothing
    return {each: Positions.from_words(numbers[part], bits[part]) for each, part in parts}


def _numbers(words: pa.Table, *columns: str) -> list[np.ndarray]:
    return [words[column].to_numpy() for column in columns]


def fold_by_time(frame: DataFrame) -> Iterator[Absorbed]:
    """Return the messages of a DataFrame (position BIGINT, publish_time TIMESTAMP, …).

    They come in parts of neighbouring positions, and so of neighbouring publish times. A part
    without a gap, which is the usual one, is sent as its ends.
    """
    first, last = F.min("position"), F.max("position")
    parts = frame.groupBy(_bucket().alias("bucket")).agg(
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
    """Return the rows of a DataFrame (position BIGINT, …) whose position stands in the set."""
    return labelled(frame, {0: positions}, "label").drop("label")


def labelled(frame: DataFrame, groups: Mapping[int, Positions], label: str) -> DataFrame:
    """Return the rows whose position stands in one of some sets, with the set's number as INT.

    No position stands in two sets. Few runs are compared in place; many are looked up in bitmaps,
    one for every 32,768 positions.
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
    """Return a set as rows: a number of 32,768 positions, and a bit for each in 512 words."""
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
