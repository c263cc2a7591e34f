"""The metrics that an ack state tells by itself, as a DataFrame over its table."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def _count_where(condition: str) -> str:
    return f"aggregate(filter(spans, s -> {condition}), 0L, (n, s) -> n + s.message_count)"


_UNACKED = "s.state NOT IN ('acked', 'retained')"
_FIGURES = {
    "num_undelivered_messages": _count_where(_UNACKED),
    "num_outstanding_messages": _count_where("s.state = 'leased'"),
    "oldest_unacked_publish_time": "array_min(transform(filter(spans, s -> "
    + _UNACKED
    + "), s -> s.publish_time_min))",
    "ack_message_count_success": "counters.success",
    "ack_message_count_expired": "counters.expired",
    "ack_message_count_invalid": "counters.invalid",
    "dead_letter_message_count": "counters.dead_letters",
}


def figures(spark: SparkSession, table: str) -> DataFrame:
    """Return one row with the figures of an ack state, under the names of ``Figures``."""
    counted = {name: F.expr(text) for name, text in _FIGURES.items()}
    return spark.table(table).select(*(column.alias(name) for name, column in counted.items()))
