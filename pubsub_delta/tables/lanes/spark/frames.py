"""Lazy DataFrames of messages. They select by position, which OPTIMIZE does not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from pubsub_delta.errors import InvalidArgument, first_line
from pubsub_delta.policy.ack_state import Span
from pubsub_delta.policy.positions import Positions
from pubsub_delta.session import check_reading
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.lanes.spark.bitmaps import at_positions, fold, fold_named, labelled
from pubsub_delta.tables.lanes.spark.columns import (
    ack_id,
    named_leases,
    never_null,
    published_between,
    value_of_span,
)
from pubsub_delta.tables.lanes.spark.errors import translating_errors
from pubsub_delta.tables.lanes.spark.ordering import in_key_order
from pubsub_delta.tables.lanes.spark.stored import is_cached, newest, stored
from pubsub_delta.tables.lanes.spark.types import arrow_frame
from pubsub_delta.tables.layout import path_of
from pubsub_delta.tables.schemas import BACKLOG, MESSAGE_COLUMNS


def messages(
    spark: SparkSession,
    table: str,
    groups: Mapping[int, Positions],
    earliest: datetime | None,
    latest: datetime | None,
    label: str,
) -> DataFrame:
    """Return the stored messages of some disjoint sets of positions.

    Columns: ``position``, those of a message, and ``label``, the number of the set, as INT. All
    messages must have been published between the two times. Each evaluation gives the same rows,
    unless retention deletes some in between.
    """
    with translating_errors(table):
        rows = stored(spark, table).where(published_between(earliest, latest))
        return labelled(rows.select("position", *MESSAGE_COLUMNS), groups, label)


def of_spans(spark: SparkSession, table: str, spans: Sequence[Span]) -> DataFrame:
    """Return the messages of spans, as ``messages`` does; ``span`` is the index in the list."""
    window = Window.of(spans)
    groups = {place: span.positions for place, span in enumerate(spans)}
    return messages(spark, table, groups, window.earliest, window.latest, "span")


def within(spark: SparkSession, table: str, window: Window) -> DataFrame:
    """Return the messages of a window, with all columns of the table."""
    with translating_errors(table):
        rows = stored(spark, table).where(published_between(window.earliest, window.latest))
        return rows if window.positions is None else at_positions(rows, window.positions)


def leased(
    spark: SparkSession,
    table: str,
    spans: Sequence[Span],
    *,
    subscription_uid: str,
    lease_id: int,
    counted: bool,
    ordered: bool = False,
) -> DataFrame:
    """Return the messages of a lease with the columns of BATCH; Spark computes ids on demand.

    ``counted``: whether delivery attempts are counted. ``ordered``: whether the messages of an
    ordering key are in one partition, in order.
    """
    rows = _of_lease(spark, table, spans, subscription_uid, lease_id, counted, ordered=ordered)
    return rows.drop("position")


def chosen(
    spark: SparkSession,
    table: str,
    spans: Sequence[Span],
    where: Column,
    *,
    subscription_uid: str,
    lease_id: int,
    counted: bool,
) -> Positions:
    """Return the messages of a lease that fulfil a condition on the columns of BATCH.

    Spark reads only the columns of the condition. It refers to them by name, and not as columns of
    another DataFrame; else, or if it is no condition, InvalidArgument. An error that the condition
    raises is not one of the table.
    """
    rows = _of_lease(spark, table, spans, subscription_uid, lease_id, counted, ordered=False)
    try:
        with translating_errors(table, of_others=True):
            return fold(rows.where(where), sum(map(len, spans)))
    except AnalysisException as error:
        raise InvalidArgument(
            f"where: {first_line(error)}; a condition on the columns of the batch by their names "
            "is accepted, as F.col('ordering_key') == 'a'"
        ) from error


def _of_lease(
    spark: SparkSession,
    table: str,
    spans: Sequence[Span],
    subscription_uid: str,
    lease_id: int,
    counted: bool,
    *,
    ordered: bool,
) -> DataFrame:
    rows = of_spans(spark, table, spans)
    if ordered:
        rows = in_key_order(rows, F.col("position"))
    return rows.select(
        "position",
        ack_id(subscription_uid, lease_id, F.col("position")).alias("ack_id"),
        _message_id(),
        *map(never_null, MESSAGE_COLUMNS),
        _attempt(spans, counted),
    )


def backlog(spark: SparkSession, table: str, spans: Sequence[Span], *, counted: bool) -> DataFrame:
    """Return the messages of spans with the columns of BACKLOG."""
    if not spans:
        return arrow_frame(spark, BACKLOG.empty_table(), BACKLOG)
    return of_spans(spark, table, spans).select(
        _message_id(),
        *map(never_null, MESSAGE_COLUMNS),
        value_of_span([span.state.value for span in spans]).alias("state"),
        _attempt(spans, counted),
    )


def everything(spark: SparkSession, table: str) -> DataFrame:
    """Return all stored messages, whatever is cached: message_id and the columns of a message."""
    with translating_errors(table):
        rows = _all_columns(stored(spark, table))
        return _all_columns(newest(spark, table)) if is_cached(rows) else rows


def as_of(
    spark: SparkSession, table: str, version: int, *, until: datetime | None = None
) -> DataFrame:
    """Return all messages that were stored at a version, or those published until a time.

    FailedPrecondition if the session would leave some out.
    """
    check_reading(spark)
    with translating_errors(table):
        rows = spark.sql(f"SELECT * FROM {table} VERSION AS OF {version:d}")
        if until is not None:
            rows = rows.where(published_between(None, until))
        return _all_columns(rows)


def stream(
    spark: SparkSession,
    table: str,
    from_version: int | None = None,
    *,
    since: datetime | None = None,
) -> DataFrame:
    """Return all messages as a streaming DataFrame, or those from a version or a time on.

    Columns: message_id and those of a message. DELETE commits of retention are skipped.
    FailedPrecondition if the session would leave some out.
    """
    check_reading(spark)
    path = path_of(table)
    with translating_errors(table):
        reader = spark.readStream.format("delta").option("skipChangeCommits", "true")
        if from_version is not None:
            reader = reader.option("startingVersion", from_version)
        rows = reader.table(table) if path is None else reader.load(path)
        wanted = rows.where(published_between(since, None))
        return _all_columns(wanted)


def has_ack_ids(frame: DataFrame) -> bool:
    """Return whether a DataFrame has exactly one column ``ack_id``, of type STRING."""
    with translating_errors(None, of_others=True):
        schema = frame.schema
    given = [column.dataType for column in schema if column.name == "ack_id"]
    return len(given) == 1 and isinstance(given[0], StringType)


def fold_ack_ids(
    ids: DataFrame, subscription_uid: str
) -> tuple[dict[int, Positions], list[str | None]]:
    """Return the positions by lease of a DataFrame of ack ids (ack_id STRING, …), read once.

    The second value is the distinct ack ids that are not of the subscription.
    """
    return fold_named(named_leases(subscription_uid, ids))


def _all_columns(rows: DataFrame) -> DataFrame:
    return rows.select(_message_id(), *map(never_null, MESSAGE_COLUMNS))


def _message_id() -> Column:
    return F.col("position").cast("string").alias("message_id")


def _attempt(spans: Sequence[Span], counted: bool) -> Column:
    attempt = F.lit(None).cast("int")
    if counted:
        attempt = value_of_span([span.delivery_attempt for span in spans]).cast("int")
    return attempt.alias("delivery_attempt")
