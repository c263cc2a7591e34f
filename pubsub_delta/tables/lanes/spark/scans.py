"""Scans the messages of a topic: the executors filter and aggregate, and return bitmaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.clock import from_micros
from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.lanes.spark.bitmaps import fold, fold_by_time
from pubsub_delta.tables.lanes.spark.columns import matching, message_bytes, never_null
from pubsub_delta.tables.lanes.spark.errors import collected, translating_errors
from pubsub_delta.tables.lanes.spark.frames import within
from pubsub_delta.tables.lanes.spark.grouping import grouped

_MESSAGES_AT_A_TIME = 50_000
"""The messages of one query of ``batches``."""


class SparkScans:
    """Scans the messages of topics by Spark (``lanes.scans``).

    Only ``rows`` and ``batches`` collect messages on the driver.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def fold(self, table: str, window: Window, filter_: Filter | None = None) -> Positions:
        """Return the stored messages of a window that pass a filter."""
        with translating_errors(table):
            passing = self._within(table, window).where(matching(filter_))
            return fold(passing, _most(window))

    def parts(self, table: str, window: Window) -> list[Absorbed]:
        """Return the stored messages of a window, by buckets of close positions."""
        with translating_errors(table):
            return list(fold_by_time(self._within(table, window)))

    def of_same_keys(self, table: str, of: Window, among: Window) -> Positions:
        """Return the messages of ``among`` whose ordering key is that of a message of ``of``.

        A message without a key (null or empty) shares it with none.
        """
        with translating_errors(table):
            keys = self._keyed(table, of).select("ordering_key").distinct()
            sharing = self._keyed(table, among).join(keys, "ordering_key", "left_semi")
            return fold(sharing, _most(among))

    def followers(self, table: str, of: Window, among: Window) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""
        with translating_errors(table):
            keys, first = {"ordering_key": F.col("ordering_key")}, F.min("position").alias("first")
            firsts = grouped(self._keyed(table, of), keys, first)
            later = self._keyed(table, among).join(firsts, "ordering_key")
            return fold(later.where(F.col("position") > F.col("first")), _most(among))

    def rows(self, table: str, window: Window, columns: Sequence[str]) -> pa.Table:
        """Return some columns of the messages of a window, ordered by position.

        Data and attributes are empty where other writers stored null.
        """
        with translating_errors(table):
            ordered = self._within(table, window).orderBy("position")
            return collected(ordered.select(*map(never_null, columns)), table)

    def batches(
        self, table: str, window: Window, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``rows`` in batches, which bounds the memory of the driver."""
        left = self.fold(table, window) if window.positions is None else window.positions
        while left:
            part = left.first(_MESSAGES_AT_A_TIME)
            left -= part
            yield from self.rows(
                table, Window(part, window.earliest, window.latest), columns
            ).to_batches()

    def count(self, table: str, window: Window) -> tuple[int, datetime | None]:
        """Return how many messages a window holds, and the earliest publish time among them."""
        totals = (F.count("*").alias("count"), F.unix_micros(F.min("publish_time")).alias("first"))
        with translating_errors(table):
            row = collected(self._within(table, window).agg(*totals), table).to_pylist()[0]
        return row["count"], None if row["first"] is None else from_micros(row["first"])

    def byte_count(self, table: str, window: Window) -> int:
        """Return the bytes of data, attributes (keys and values) and ordering keys of a window."""
        with translating_errors(table):
            bytes_ = self._within(table, window).agg(F.sum(message_bytes()).alias("bytes"))
            return collected(bytes_, table).to_pylist()[0]["bytes"] or 0

    def _keyed(self, table: str, window: Window) -> DataFrame:
        rows = self._within(table, window).where(F.col("ordering_key") != "")
        return rows.select("position", "ordering_key")

    def _within(self, table: str, window: Window) -> DataFrame:
        return within(self._spark, table, window)


def _most(window: Window) -> int | None:
    """Return the most messages that a window can hold; None if unknown."""
    return None if window.positions is None else len(window.positions)
