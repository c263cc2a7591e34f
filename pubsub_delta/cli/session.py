"""Opens the store of the settings, and a Spark session if it needs one."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

import click
import pyarrow as pa

from pubsub_delta.cli.progress import waiting
from pubsub_delta.cli.settings import LOG_LEVELS, Settings
from pubsub_delta.client import PubSub
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, first_line
from pubsub_delta.session import (
    JVM_NEEDS,
    NO_JVM,
    check_connect_client,
    local_session,
    remote_session,
    running_session,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARK_LEVELS = dict(zip(LOG_LEVELS, ("ERROR", "WARN", "INFO", "DEBUG"), strict=True))

ANSWER_SECONDS = 5
"""The timeout of the connection to a Spark Connect server."""


def open_store(settings: Settings) -> PubSub:
    """Return the store of the settings; Spark starts at its first use.

    With ``remote`` a Spark Connect server does the work; FailedPrecondition if it does not answer.
    """
    assert settings.root is not None
    _log_from(settings.log_level)
    if settings.remote is None:
        without_pandas()
        return PubSub(
            lambda: _started(settings),
            settings.root,
            project=settings.project,
            tables_root=settings.tables_root,
        )
    spark = connect(settings.remote)
    return PubSub(
        spark,
        settings.root,
        project=settings.project,
        lane="spark",
        tables_root=settings.tables_root,
    )


def without_pandas() -> None:
    """Keep pyarrow from importing pandas in this process.

    pyarrow tries to import pandas at its first array, which would double the time of a command.
    Later imports of pandas, as by ``to_pandas``, still work.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NO_PANDAS)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(_NO_PANDAS)


class _NoPandas(MetaPathFinder):
    """Raises ModuleNotFoundError for pandas."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


_NO_PANDAS = _NoPandas()


def _started(settings: Settings) -> SparkSession:
    """Return the running session, or start one with a message.

    FailedPrecondition if it does not start.
    """
    running = running_session()
    if running is not None:
        return running
    if not sys.stderr.isatty():
        click.echo("Starting Spark, which this command needs.", err=True)
    with waiting("Starting Spark", 0):
        return _new_session(settings)


def _new_session(settings: Settings) -> SparkSession:
    level = _SPARK_LEVELS[settings.log_level]
    logging.getLogger("py4j").setLevel(logging.CRITICAL if level == "ERROR" else logging.ERROR)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _jvm_output_redirected(quiet=settings.log_level == "error") as log:
        try:
            return local_session(app_name="pubsub-delta", settings={"spark.log.level": level})
        except FailedPrecondition as error:
            if error.__cause__ is None or not str(error).startswith(NO_JVM):
                raise
            raise FailedPrecondition(_startup_error(error.__cause__, log)) from error
        except Exception as error:
            raise FailedPrecondition(_startup_error(error, log)) from error


def _log_from(level: str) -> None:
    logging.basicConfig(format="%(levelname)s: %(name)s: %(message)s")
    logging.getLogger("pubsub_delta").setLevel(level.upper())


def connect(remote: str) -> SparkSession:
    """Return a session of a Spark Connect server, ``sc://host:port``.

    InvalidArgument for another address. FailedPrecondition if the extra ``connect`` is not
    installed, or no server answers within ``ANSWER_SECONDS``.
    """
    try:
        address = urlsplit(remote)
        names_a_host = address.scheme == "sc" and bool(address.hostname)
    except ValueError:  # an unclosed bracket
        names_a_host = False
    if not names_a_host:
        raise InvalidArgument(
            f"remote: {remote!r} is not the address of a Spark Connect server; "
            "sc://host:port is accepted, such as sc://localhost:15002"
        )
    check_connect_client(remote)
    from pyspark.errors import PySparkException  # most commands need no Spark

    grpc = importlib.import_module("grpc")
    client = importlib.import_module("pyspark.sql.connect.client")
    try:
        channel = client.DefaultChannelBuilder(remote).toChannel()
        grpc.channel_ready_future(channel).result(timeout=ANSWER_SECONDS)
        channel.close()
        return remote_session(remote)
    except grpc.FutureTimeoutError:
        raise FailedPrecondition(
            f"remote: no Spark Connect server answers at {remote!r} within {ANSWER_SECONDS} "
            "seconds; start it, or leave --remote out for a session on this machine"
        ) from None
    except PySparkException as error:
        raise FailedPrecondition(f"remote: {remote!r}: {first_line(error)}") from error


@contextmanager
def _jvm_output_redirected(*, quiet: bool) -> Iterator[IO[bytes] | None]:
    """Redirect the output of a JVM that starts in the block, for as long as the JVM runs.

    The JVM inherits the descriptors: standard error for both streams, or with ``quiet`` a temporary
    file, which the context manager yields.
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


def _startup_error(error: BaseException, log: IO[bytes] | None) -> str:
    """Return why Spark did not start, with the last line of its log."""
    last = ""
    if log is not None:
        log.seek(0)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
        last = f"; its last log line: {lines[-1].strip()}" if lines else ""
    return f"{NO_JVM}: {first_line(error)}{last}; {JVM_NEEDS}; --log-level info shows Spark's log"
