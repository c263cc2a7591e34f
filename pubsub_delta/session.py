"""The only place that builds a SparkSession, and what it knows of the settings that matter."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec

import pyarrow as pa
from delta import configure_spark_with_delta_pip
from pyspark.errors import AnalysisException, PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession

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
    # A round of publish, pull and ack generates more than 100 classes, most of them for Delta's own
    # queries; where they do not fit, each is compiled again every time.
    "spark.sql.codegen.cache.maxEntries": "1000",
}
"""Without these everything works, slower."""

SMALL_WORK_SETTINGS = {
    # Planning anew after each stage gains nothing where a stage has a few rows.
    "spark.sql.adaptive.enabled": "false",
    # Spark generates the code of projections anew in every task, though it compiles it once. That
    # takes more than half of the time of a task that handles a few rows of Delta's log.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For commits and looks of few rows. Millions of rows take several times as long with them."""

_SLOW = {
    "spark.databricks.delta.snapshotPartitions": "50",
    "spark.sql.maxConcurrentOutputFileWriters": "0",
    "spark.sql.codegen.cache.maxEntries": "100",
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
    # A page of a file that a disk has spoilt is told, and not read.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}


_DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
"""Set on every Databricks cluster, whose sessions have Delta without naming its extension."""

_CONNECT_MODULES = ("grpc", "grpc_status", "pandas", "zstandard")
"""What pyspark's client of Spark Connect imports, and plain pyspark does not need."""


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
    if remote := os.environ.get("SPARK_REMOTE"):  # as spark-submit --remote sets it
        return remote_session(remote)
    builder = SparkSession.builder.appName(app_name).config("spark.driver.memory", driver_memory)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has no JVM up already
        builder = configure_spark_with_delta_pip(builder.master(master))
        wanted = {**DELTA_SETTINGS, **SPEED_SETTINGS, **LOCAL_SETTINGS, **(settings or {})}
    else:
        wanted = {**DELTA_SETTINGS, **(settings or {})}
    for key, value in wanted.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def session_for_small_work(spark: SparkSession) -> SparkSession:
    """Return a session beside another one, which stays as it is, for commits and looks of few rows.

    It takes over the settings and the catalog that the other one has now. A session of Spark
    Connect is returned itself.
    """
    if is_remote(spark):
        return spark
    small = spark.newSession()
    wanted = {**spark.conf.getAll, **SMALL_WORK_SETTINGS}
    for key, value in wanted.items() - small.conf.getAll.items():
        with suppress(AnalysisException):  # what only the start of Spark can set, both have
            small.conf.set(key, value)
    small.catalog.setCurrentCatalog(spark.catalog.currentCatalog())
    return small


def few_rows(spark: SparkSession, small: SparkSession, rows: pa.Table) -> DataFrame:
    """Return a few rows as a DataFrame of ``small``, the session for small work beside ``spark``.

    ``small.createDataFrame`` would leave ``small`` as the active session of the whole process. So
    they are created in ``spark``, and handed over by a view that all sessions see, for a moment.
    """
    frame = spark.createDataFrame(rows)
    if small is spark:
        return frame
    view = f"pubsub_delta_{uuid.uuid4().hex}"
    shared = spark.conf.get("spark.sql.globalTempDatabase")
    frame.createGlobalTempView(view)
    try:
        return small.table(f"{shared}.{view}")
    finally:
        spark.catalog.dropGlobalTempView(view)


def remote_session(url: str) -> SparkSession:
    """Return a session of the Spark Connect server at a URL (``sc://host:15002``).

    Delta and the settings that suit a store are the server's. Where a remote session runs already,
    that one is returned. FailedPrecondition where the client is not installed, or this process
    runs a Spark of its own. A server that does not answer is tried for minutes, as Spark does.
    """
    check_connect_client(url)
    try:
        return SparkSession.builder.remote(url).getOrCreate()
    except PySparkRuntimeError as error:
        raise FailedPrecondition(f"{url}: {str(error).splitlines()[0]}") from error


def check_connect_client(url: str) -> None:
    """Refuse a URL of a server where pyspark lacks what its client needs.

    FailedPrecondition, where pyspark itself would end the process without a word.
    """
    absent = [name for name in _CONNECT_MODULES if find_spec(name) is None]
    if absent:
        raise FailedPrecondition(
            f"{url}: the client of Spark Connect lacks {', '.join(absent)}; "
            "pip install 'pubsub-delta[connect]' installs it"
        )


def is_remote(spark: SparkSession) -> bool:
    """Tell whether a session is one of a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def check_session(spark: SparkSession) -> None:
    """Refuse a session without Delta; warn once of one that is merely slower than it need be."""
    extensions = spark.conf.get("spark.sql.extensions", "") or ""
    if "DeltaSparkSessionExtension" not in extensions and _DATABRICKS not in os.environ:
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
