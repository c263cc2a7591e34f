"""A lane on the run's session, and a topic of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.spark import SparkLane
from pubsub_delta.tables.schemas import MESSAGES
from tests.spark_lane.spark_rows import UID


@pytest.fixture
def lane(spark: SparkSession) -> SparkLane:
    return SparkLane(spark, TableLocks(None))


@pytest.fixture
def table(tmp_path: Path) -> str:
    return f"delta.`{tmp_path}/messages/{UID}`"


@pytest.fixture
def topic(lane: SparkLane, table: str) -> str:
    lane.create(table, MESSAGES)
    return table
