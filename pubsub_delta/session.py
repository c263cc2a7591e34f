"""The only place that builds a SparkSession, and what it knows of the settings that matter."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

from pubsub_delta.errors import FailedPrecondition

DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"

DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""Without these nothing works."""

SPEED_SETTINGS = {
    # A Delta log of a few hundred actions is read in one task instead of fifty.
    "spark.databricks.delta.snapshotPartitions": "1",
    # A bulk publish into the day's partition is written as it comes, not sorted by day first.
    "spark.sql.maxConcurrentOutputFileWriters": "4",
}
"""Without these everything works, slower."""

_SLOW = {
    "spark.databricks.delta.snapshotPartitions": "50",
    "spark.sql.maxConcurrentOutputFileWriters": "0",
}
"""What Spark and Delta do where nobody sets them."""

LOCAL_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.debug.maxToStringFields": "1000",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # VACUUM lists a small table in two tasks instead of hundreds.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


class SlowSettings(UserWarning):
    """The session lacks settings that make small commits or bulk publishes much faster."""


def local_session(
    *,
    app_name: str = "pubsub_delta",
    master: str = "local[*]",
    driver_memory: str = "2g",
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a SparkSession on this machine, with Delta and the settings that suit a store.

    The first one on a machine fetches Delta's JARs once. Where a session runs already, as under
    spark-submit, that one is returned; its Delta comes from ``--packages`` or spark-defaults.conf.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    builder = SparkSession.builder.appName(app_name).config("spark.driver.memory", driver_memory)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has no JVM up already
        builder = configure_spark_with_delta_pip(builder.master(master))
        wanted = {**DELTA_SETTINGS, **SPEED_SETTINGS, **LOCAL_SETTINGS, **(settings or {})}
    else:
        wanted = {**DELTA_SETTINGS, **(settings or {})}
    for key, value in wanted.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def check_session(spark: SparkSession) -> None:
    """Refuse a session without Delta; warn once of one that is merely slower than it need be."""
    extensions = spark.conf.get("spark.sql.extensions", "") or ""
    if "DeltaSparkSessionExtension" not in extensions:
        needed = ", ".join(f"{key}={value}" for key, value in DELTA_SETTINGS.items())
        raise FailedPrecondition(
            f"the Spark session has no Delta: spark.sql.extensions is {extensions!r}; "
            f"use local_session(), or start Spark with the package {DELTA_PACKAGE} and {needed}"
        )
    missing = [key for key, slow in _SLOW.items() if spark.conf.get(key, slow) in (slow, None)]
    if missing:
        told = ", ".join(f"{key}={SPEED_SETTINGS[key]}" for key in missing)
        warnings.warn(
            f"this Spark session works, but would be faster with {told} "
            "(conf/spark-defaults.conf says why)",
            SlowSettings,
            stacklevel=3,
        )
