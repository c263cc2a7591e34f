"""Metrics as a DataFrame: one row for each figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pubsub_delta.metrics import MetricRow

METRIC_ROW = StructType(
    [
        StructField("kind", StringType()),
        StructField("name", StringType()),
        StructField("metric", StringType()),
        StructField("labels", MapType(StringType(), StringType())),
        StructField("value", DoubleType()),
        StructField("unit", StringType()),
        StructField("is_estimate", BooleanType()),
        StructField("time", TimestampType()),
    ]
)
"""The columns of a table of metrics."""


def frame_of(spark: SparkSession, rows: Iterable[MetricRow]) -> DataFrame:
    """Return figures as a DataFrame, in their order."""
    records = [{**asdict(row), "labels": list(row.labels.items())} for row in rows]
    schema = to_arrow_schema(METRIC_ROW, timezone="UTC")
    return spark.createDataFrame(pa.Table.from_pylist(records, schema=schema), METRIC_ROW)
