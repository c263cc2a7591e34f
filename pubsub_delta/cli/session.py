"""Where the command line gets its Spark session and its store from."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from pyspark.sql import SparkSession

from pubsub_delta.cli.settings import Settings
from pubsub_delta.client import PubSub
from pubsub_delta.errors import FailedPrecondition, Unimplemented
from pubsub_delta.session import local_session

_SPARK_LEVELS = {"error": "ERROR", "warning": "WARN", "info": "INFO", "debug": "DEBUG"}
LOG_LEVELS = tuple(_SPARK_LEVELS)


def open_store(settings: Settings) -> PubSub:
    """Return the store that the settings name, in the session that runs, or a new one.

    FailedPrecondition if Spark does not start. Unimplemented with ``remote``.
    """
    assert settings.root is not None
    if settings.remote is not None:
        raise Unimplemented(
            f"--remote: {settings.remote!r}: a Spark Connect server cannot be used yet, this comes "
            "in a later version; leave --remote out (and remote in the configuration file)"
        )
    level = _SPARK_LEVELS[settings.log_level]
    spark = SparkSession.getActiveSession()
    if spark is None:
        logging.basicConfig(format="%(levelname)s: %(name)s: %(message)s")
        logging.getLogger("pubsub_delta").setLevel(settings.log_level.upper())
        logging.getLogger("py4j").setLevel(logging.CRITICAL if level == "ERROR" else logging.ERROR)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        with _jvm_told_apart(quiet=settings.log_level == "error") as log:
            try:
                spark = local_session(app_name="pubsub-delta", settings={"spark.log.level": level})
            except Exception as error:
                raise FailedPrecondition(_why(error, log)) from error
    return PubSub(spark, settings.root, project=settings.project)


@contextmanager
def _jvm_told_apart(*, quiet: bool) -> Iterator[IO[bytes] | None]:
    """Keep what a JVM says that starts meanwhile out of the results, for as long as it runs.

    It inherits the standard output and error of that moment: standard error for both, or, where
    it is to be quiet, a file without a name, which is returned.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    try:
        with tempfile.TemporaryFile() as log:
            if quiet:
                os.dup2(log.fileno(), 2)
            os.dup2(2, 1)
            try:
                yield log if quiet else None
            finally:
                os.dup2(kept[0], 1)
                os.dup2(kept[1], 2)
    finally:
        for each in kept:
            os.close(each)


def _why(error: Exception, log: IO[bytes] | None) -> str:
    """Say why Spark did not start: the last words of its log, if they were kept."""
    last = ""
    if log is not None:
        log.seek(0)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
        last = f"; its last words: {lines[-1].strip()}" if lines else ""
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return (
        f"Spark did not start: {first}{last}; Java 17 or 21 is needed (JAVA_HOME), and for the "
        "first start a network to fetch Delta's JARs; --log-level info shows Spark's log"
    )
