"""Appends rows of the consuming jobs to Delta tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_random_exponential

from pubsub_delta import FailedPrecondition, InvalidArgument, PubSubError, Unavailable
from pubsub_delta.jobs import sources, terminal
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.jobs.outages import outage_in

_RACES = re.compile(
    r"(?:ProtocolChanged|MetadataChanged|ConcurrentWrite)Exception"
    r"|(?:DELTA_TABLE|TABLE_OR_VIEW)_ALREADY_EXISTS"
)
"""Delta's and Spark's errors where somebody else has created a table, or given it columns, since
this append began. It has written nothing then, and succeeds when it is made again.
"""
_NO_TABLE_THERE = re.compile(r"\[DELTA_CANNOT_CREATE_LOG_PATH\][^\n]*")
"""Delta's error for a file, or for a folder that may not be written, in the place of a table."""


@contextmanager
def translating_outages(option: str, place: str) -> Iterator[None]:
    """Raise Unavailable if a storage is full, away or busy: a later run can succeed.

    It is that of the place, or of what is read for it.
    """
    try:
        yield
    except Exception as error:  # Spark hands on an error of Java, which has no class in Python
        why = outage_in(error)
        if why is None or isinstance(error, PubSubError):
            raise
        raise Unavailable(
            f"{option}: {place!r} cannot be written now ({why}); try again later"
        ) from error


def _lost_a_race(error: BaseException) -> bool:
    return bool(_RACES.search(str(error)[:2000]))


@retry(
    retry=retry_if_exception(_lost_a_race),
    wait=wait_random_exponential(multiplier=0.2, max=5),
    stop=stop_after_attempt(10),
    reraise=True,
)
def _append(rows: DataFrame, output: str, options: dict[str, Any]) -> None:
    writer = rows.write.format("delta").mode("append").options(**options)
    if "/" in output:
        writer.save(output)
    else:
        writer.saveAsTable(output)


MESSAGES = (
    "ack_id STRING, message_id STRING, publish_time TIMESTAMP, data BINARY, "
    "attributes MAP<STRING,STRING>, ordering_key STRING, delivery_attempt INT"
)
"""The columns of ``PulledBatch.df``."""


consuming_options = options(
    click.option(
        "--subscription",
        required=True,
        type=terminal.text,
        help="The subscription's id or full name.",
    ),
    click.option(
        "--output",
        required=True,
        type=terminal.text,
        help="The Delta table to append to: a path or a name.",
    ),
    click.option(
        "--query",
        type=terminal.text,
        help="SQL over {messages}, run for each batch. Default: the messages unchanged.",
    ),
    click.option(
        "--merge-schema",
        is_flag=True,
        help="Add missing columns to the table. By default they are refused.",
    ),
)
"""The options of the subscription, of the table, and of what is made of its messages."""


def check_query(spark: SparkSession, query: str | None) -> None:
    """Raise InvalidArgument for SQL that does not run over messages, before any is leased."""
    if query is None:
        return
    if "{messages}" not in query:
        raise InvalidArgument(
            f"--query: {query!r} does not read from {{messages}}; FROM {{messages}} is needed"
        )
    try:
        spark.sql(query, messages=spark.createDataFrame([], MESSAGES))
    except (AnalysisException, LookupError, ValueError, AttributeError) as error:
        raise InvalidArgument(
            f"--query: {query!r} cannot be run: {sources.first_line(error)}; SQL over {{messages}} "
            "is accepted, with other braces doubled"
        ) from None


def append(
    rows: DataFrame, output: str, *, merge_schema: bool | None = None, **options: Any
) -> None:
    """Append to a Delta table: a path if it has a slash, else a name in the catalog.

    Several jobs may append to one table where its storage keeps writers apart, which a local disk
    does not. Each may be the one that creates it. InvalidArgument if the table has other columns,
    or cannot be written; Unavailable if its storage is full or away. FailedPrecondition if Delta
    would skip the rows, which are acknowledged afterwards. ``merge_schema``: whether the table gets
    columns that it does not have; None where the job has no such option.
    """
    if "txnVersion" not in options:  # else it goes before a transaction of the session
        _check_transaction(rows.sparkSession)
    may_merge = merge_schema is False
    if merge_schema:
        options["mergeSchema"] = True
    try:
        with translating_outages("--output", output):
            _append(rows, output, options)
    except AnalysisException as error:
        hint = "; --merge-schema adds columns that the table does not have" if may_merge else ""
        raise _cannot_be_written(output, sources.first_line(error) + hint) from None
    except PubSubError:
        raise
    except Exception as error:  # Spark hands on an error of Java, which has no class in Python
        refused = _NO_TABLE_THERE.search(str(error))
        if refused is None:
            raise
        why = f"{refused[0]}: a file is there, or the folder may not be written"
        raise _cannot_be_written(output, why) from None


def _cannot_be_written(output: str, why: str) -> InvalidArgument:
    return InvalidArgument(f"--output: {output!r} cannot be written: {why}")


_TRANSACTION = ("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion")


def _check_transaction(spark: SparkSession) -> None:
    try:
        given = [spark.conf.get(key, "") for key in _TRANSACTION]
    except Exception:  # each platform refuses to tell a setting by an error of its own
        return
    if all(given):
        raise FailedPrecondition(
            f"--output: the Spark session has {' and '.join(_TRANSACTION)}, so Delta skips each "
            "write to a table that has this version already; nothing was written: unset them"
        )
