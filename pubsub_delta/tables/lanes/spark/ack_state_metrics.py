"""The metrics of a subscription that its ack state alone gives, as a DataFrame over its table."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

_METRICS = {
    "num_undelivered_messages": "num_undelivered_messages",
    "num_outstanding_messages": "num_outstanding_messages",
    "oldest_unacked_publish_time": "oldest_unacked_publish_time",
    "ack_message_count_success": "counters.success",
    "ack_message_count_expired": "counters.expired",
    "ack_message_count_invalid": "counters.invalid",
    "dead_letter_message_count": "counters.dead_letters",
}
"""The columns of metrics: a stream that they are joined to is planned for each micro-batch,
and computing them from the spans took a third of a second there."""


def metric_columns(spark: SparkSession, table: str) -> DataFrame:
    """Return the figures of an ack state in one row, named as those of ``SubscriptionFigures``."""
    return spark.table(table).select(*(F.col(c).alias(name) for name, c in _METRICS.items()))
