"""Metrics as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta.metrics import MetricRow
from pubsub_delta.tables.lanes.spark.types import arrow_frame
from pubsub_delta.tables.schemas import METRICS


def metrics_frame(spark: SparkSession, rows: Iterable[MetricRow]) -> DataFrame:
    """Return rows of metrics as a DataFrame, in their order: ``schemas.METRICS``."""
    records = [{**asdict(row), "labels": list(row.labels.items())} for row in rows]
    return arrow_frame(spark, pa.Table.from_pylist(records, schema=METRICS), METRICS)
