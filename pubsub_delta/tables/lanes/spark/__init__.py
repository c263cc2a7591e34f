"""The Spark lane: tables by SQL and DataFrames. Only it imports pyspark."""

from pubsub_delta.tables.lanes.spark.catalogs import current_catalog, location_of_schema
from pubsub_delta.tables.lanes.spark.lane import SparkLane
from pubsub_delta.tables.lanes.spark.scans import SparkScans

__all__ = ["SparkLane", "SparkScans", "current_catalog", "location_of_schema"]
