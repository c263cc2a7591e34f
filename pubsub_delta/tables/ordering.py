"""Ordering keys, answered by the topic's table, and rows laid out in the order of their keys."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pubsub_delta.policy.ack_state import Span
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.bitmaps import fold
from pubsub_delta.tables.messages import Messages


class OrderingKeys:
    """Knows the ordering keys of a topic's messages; keys never leave the executors."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def sharing(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` whose key is that of a message of ``of``."""
        keys = self._messages.keyed(of).select("ordering_key").distinct()
        return fold(self._messages.keyed(among).join(keys, "ordering_key", "left_semi"))

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""
        keyed = self._messages.keyed(of)
        firsts = keyed.groupBy("ordering_key").agg(F.min("position").alias("first"))
        later = self._messages.keyed(among).join(firsts, "ordering_key")
        return fold(later.where(F.col("position") > F.col("first")))


def in_key_order(frame: DataFrame, order: Column) -> DataFrame:
    """Lay rows (ordering_key STRING, …) out so that each key's stand in one partition, in order.

    Rows without a key are spread evenly.
    """
    has_key = F.coalesce(F.col("ordering_key") != "", F.lit(False))
    spread = F.when(has_key, F.xxhash64("ordering_key")).otherwise(F.xxhash64(order))
    return frame.repartition(spread).sortWithinPartitions(order)
