"""Metrics as DataFrames: of a store, and the stored ones of an ack state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.metrics import MetricRow
from pubsub_delta.tables.lanes.spark.types import arrow_frame
from pubsub_delta.tables.schemas import METRICS

_METRICS = {
    "num_undelivered_messages": "num_undelivered_messages",
    "num_outstanding_messages": "num_outstanding_messages",
    "oldest_unacked_publish_time": "oldest_unacked_publish_time",
    "ack_message_count_success": "counters.success",
    "ack_message_count_expired": "counters.expired",
    "ack_message_count_invalid": "counters.invalid",
    "dead_letter_message_count": "counters.dead_letters",
}
"""Columns of an ack state that hold metrics. A streaming query joins them in each micro-batch;
computing them from the spans took a third of a second there."""


def metric_columns(spark: SparkSession, table: str) -> DataFrame:
    """Return the metrics of an ack state as one row, named as in ``SubscriptionMetrics``."""
    return spark.table(table).select(*(F.col(c).alias(name) for name, c in _METRICS.items()))


def metrics_frame(spark: SparkSession, rows: Iterable[MetricRow]) -> DataFrame:
    """Return rows of metrics as a DataFrame, in their order: ``schemas.METRICS``."""
    records = [{**asdict(row), "labels": list(row.labels.items())} for row in rows]
    return arrow_frame(spark, pa.Table.from_pylist(records, schema=METRICS), METRICS)
