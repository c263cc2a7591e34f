"""The Spark of a process of the trials that is to have one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pubsub_delta import local_session
from tests.conftest import QUIET, SETTINGS, SHORT

_JVM = f"{QUIET} {SHORT} -XX:ReservedCodeCacheSize=240m"
"""Quicker for a few minutes. With the usual size the cache is soon full, and all is interpreted."""


def small_session() -> SparkSession:
    """Start a small session, as fast as it goes."""
    settings = {**SETTINGS, "spark.driver.extraJavaOptions": _JVM}
    return local_session(master="local[1]", driver_memory="2g", settings=settings)
