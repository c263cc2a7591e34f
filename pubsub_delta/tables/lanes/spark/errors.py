"""Translates errors of Spark and Delta to errors of the lanes and of this library."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame

from pubsub_delta.errors import DataLoss, FailedPrecondition, PubSubError, Unavailable, first_line
from pubsub_delta.session_end import SessionEnded, telling_of_a_lost_jvm
from pubsub_delta.tables.lanes.protocol import Conflict, TableMissing
from pubsub_delta.tables.lanes.spark.types import normal
from pubsub_delta.tables.lanes.storage_errors import forbidden, translate_error

_CONFLICTS = re.compile(
    r"DELTA_CONCURRENT_|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED"
    r"|Concurrent(?:Append|DeleteRead|DeleteDelete|Transaction|Write|Modification)Exception"
    r"|MetadataChangedException|ProtocolChangedException"
)
_MISSING = re.compile(
    r"(PATH|TABLE|TABLE_OR_VIEW|SCHEMA)_(NOT_FOUND|DOES_NOT_EXIST)"
    r"|DELTA_TABLE_ONLY_OPERATION|DELTA_MISSING_DELTA_TABLE|DELTA_TABLE_NOT_FOUND"
    r"|DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"  # it was dropped after a query of it was analysed
)
_REFUSED = re.compile(
    r"PERMISSION_DENIED|INSUFFICIENT_PERMISSIONS|INSUFFICIENT_PRIVILEGES|UNAUTHORIZED_ACCESS"
    r"|LOCATION_OVERLAP|DBFS_DISABLED|Public DBFS root is disabled"
    r"|AccessControlException|Py4JSecurityException|Permission denied: user="
)
"""Errors of platforms for a path, table or schema without permission."""
_FORBIDDEN = re.compile(
    r"DELTA_(?:CANNOT_MODIFY_APPEND_ONLY|VIOLATE_CONSTRAINT_WITH_VALUES|NOT_NULL_CONSTRAINT_VIOLATED)"
)
_AWAY = re.compile(
    r"java\.net\.(?:ConnectException|UnknownHostException|NoRouteToHostException"
    r"|SocketException|SocketTimeoutException)(?:: [^\n]*)?"
    r"|Unable to execute HTTP request[^\n]*|Status Code: (?:429|50[0234])[^\n]*"
    r"|ipc\.StandbyException[^\n]*"
)
"""What Hadoop's file systems say, after their own tries, of a storage that is away or busy."""
_OCCUPIED = ("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "LOCATION_ALREADY_EXISTS")
"""Conditions for files at the location of a table that the catalog does not have."""
_STOPPED = re.compile(
    r"on a stopped SparkContext|No active or default Spark session found|\"jsc\" is null"
    r"|SparkContext\.dagScheduler\(\)\" is null"
    r"|\[NO_ACTIVE_SESSION\]|INVALID_HANDLE\.SESSION_(?:CLOSED|CHANGED|NOT_FOUND)"
    r"|incorrect server side session identifier"
)
"""What Spark says of a session that has been stopped, in the midst of an internal error; and of one
that a Spark Connect server has closed, or forgotten as it was started again.
"""
_WRITTEN = re.compile(r"failed while writing rows to \S+", re.IGNORECASE)
_NO_LOG = re.compile(r"FileNotFoundException: .*/_delta_log(?: does not exist|\s|$)")
"""Delta's error for VERSION AS OF if there is no table at a path."""


class _Expected(threading.local):
    """Whether the caller of this thread handles errors of Spark."""

    now = False


_expected = _Expected()
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    # PySpark logs every error as a page of JSON before it raises the error.
    PySparkLogger.getLogger(_name).addFilter(lambda _: not _expected.now)


@contextmanager
def expected_errors() -> Iterator[None]:
    """Stop PySpark from logging errors of this thread, which the caller handles."""
    before, _expected.now = _expected.now, True
    try:
        yield
    finally:
        _expected.now = before


@contextmanager
def translating_errors(table: str | None, *, of_others: bool = False) -> Iterator[None]:
    """Raise errors of Spark as Conflict, TableMissing, DataLoss, Unavailable or FailedPrecondition.

    ``of_others``: whether a DataFrame of the caller is read, too. Errors about its damaged files or
    missing tables are raised unchanged.
    """
    try:
        with expected_errors(), telling_of_a_lost_jvm(table or "spark"):
            yield
    except PubSubError:
        raise
    except Exception as error:
        condition = _condition(error)
        if _STOPPED.search(str(error)):
            raise SessionEnded(
                f"{table or 'spark'}: the Spark session of the store, or of the DataFrame, has "
                "been stopped, or its server has closed it; open the store again with a session "
                "that runs, PubSub(spark, root), and make the DataFrame there; getOrCreate() and "
                "local_session() return one that a server has closed until its stop() is called"
            ) from error
        if _CONFLICTS.search(condition or str(error)[:2000]):
            raise Conflict(first_line(error)) from error
        if table is not None and not of_others and is_missing(error):
            raise TableMissing(table) from error
        if table is not None and not of_others and _is_refused(error):
            raise FailedPrecondition(
                f"{table}: this session has no permission for it ({first_line(error)}); grant "
                "it, or choose another root: a URL or a catalog schema that the session can use"
            ) from error
        if table is not None and not of_others and condition in _OCCUPIED:
            raise FailedPrecondition(
                f"{table}: the catalog has no such table, and files are where it is to be created "
                f"({first_line(error)}); a program was killed while it created or dropped it: "
                "remove the files, and try again"
            ) from error
        if table is not None and not of_others and condition == "DELTA_VERSION_NOT_FOUND":
            raise FailedPrecondition(
                f"{table}: that version is not kept ({first_line(error)}); "
                "delta.logRetentionDuration of the table says how long versions are kept"
            ) from error
        rule = _FORBIDDEN.search(f"{condition} {error}")
        if table is not None and rule is not None:
            raise forbidden(table, rule[0]) from error
        away = _AWAY.search(str(error))
        if table is not None and not of_others and away is not None:
            raise Unavailable(
                f"{table}: its storage cannot be reached, or cannot do it now ({away[0][:300]}); "
                "try again later"
            ) from error
        translated = translate_error(error, None if of_others else table)
        if translated is None or (
            of_others and isinstance(translated, DataLoss) and _names_no_table(error)
        ):
            raise
        raise translated from error


def is_missing(error: BaseException) -> bool:
    """Return whether an error means that a table does not exist."""
    if isinstance(error, AnalysisException):
        return bool(_MISSING.search(_condition(error) or ""))
    return bool(_NO_LOG.search(str(error)[:2000]))


def _is_refused(error: Exception) -> bool:
    return bool(_REFUSED.search(f"{_condition(error)} {type(error).__name__} {str(error)[:2000]}"))


def collected(frame: DataFrame, table: str | None = None) -> pa.Table:
    """Return the rows of a DataFrame of this library in Arrow, times in UTC."""
    with translating_errors(table):
        return normal(frame.toArrow())


def _names_no_table(error: BaseException) -> bool:
    """Return whether an error names files of the store only as those that were being written."""
    return translate_error(RuntimeError(_WRITTEN.sub("", str(error))), None) is None


def _condition(error: BaseException) -> str | None:
    get = getattr(error, "getCondition", None)
    return get() if get is not None else None
