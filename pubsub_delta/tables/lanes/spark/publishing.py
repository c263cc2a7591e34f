"""Publishes DataFrames: validates messages, numbers them and writes them, in one pass.

A position is ``first + partition · 2²⁶ + row``. So the rows of a partition, and of its file, are
one run, and Spark neither shuffles nor counts rows first. The number of partitions is known only
when Spark writes: the caller reserves positions for some, and tries again with more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CalendarIntervalType,
    CharType,
    DataType,
    MapType,
    NullType,
    StringType,
    StructType,
    VarcharType,
    VariantType,
)

from pubsub_delta.errors import InvalidArgument, counted
from pubsub_delta.policy.messages import FIELD_OF_RULE
from pubsub_delta.policy.schemas.validation import SchemaValidator
from pubsub_delta.tables.lanes.spark.columns import (
    OF_FRAMES,
    instant,
    sql_day,
    surely_valid,
    violations,
    violations_of_frames,
)
from pubsub_delta.tables.lanes.spark.errors import translating_errors
from pubsub_delta.tables.lanes.spark.lane import SparkLane
from pubsub_delta.tables.lanes.spark.ordering import in_key_order
from pubsub_delta.tables.lanes.spark.schemas import (
    UNFIT,
    refuse_unfit,
    shortened,
    validated,
    why_unfit,
)
from pubsub_delta.tables.schemas import MESSAGES

PARTITION_BITS = 26
ROWS_OF_PARTITION = 1 << PARTITION_BITS
"""The positions that are reserved for each partition of a DataFrame."""

_ID_BITS = 33
"""``monotonically_increasing_id``: partition << 33 | row."""

_IGNORED = ("message_id", "publish_time", "publish_date")
"""Columns that the store assigns; values of the client are ignored."""

_SUSPECT = "pubsub_delta: this message may break a rule"
_TOO_MANY_ROWS = "pubsub_delta: a partition has too many rows"
_TOO_MANY_PARTITIONS = "pubsub_delta: there are too many partitions"


class TooManyPartitions(Exception):
    """A DataFrame has more partitions than positions were reserved for. Nothing was written."""


def append_frame(
    lane: SparkLane,
    table: str,
    frame: DataFrame,
    first_position: int,
    publish_time: datetime,
    user_metadata: str,
    transaction: tuple[str, int] | None,
    partitions: int,
    validator: SchemaValidator | None = None,
) -> bool:
    """Append messages (data, attributes, ordering_key, as ``conformed``) in one commit, or none.

    ``first_position``: the first of ``partitions`` · ``ROWS_OF_PARTITION`` reserved positions. Each
    partition becomes a file with one run of positions, in the order of its rows. An empty DataFrame
    makes no commit, unless it has a transaction.

    ``validator``: the schema that the data must fit; it adds its attributes.

    False if the transaction has landed before. TooManyPartitions for more than ``partitions``;
    InvalidArgument if a message breaks a rule, or a partition has too many rows; Conflict,
    TableMissing.
    """
    # The quick check also fails for valid messages with many attributes or without data. If all
    # messages are valid, they are written again with the exact check.
    for valid in (surely_valid(), ~_broken()):
        checked = _failing_unless(valid, frame)
        if validator is not None:
            checked = validated(checked, validator)
        rows = _stamped(checked, first_position, publish_time, partitions)
        try:
            return lane.append_frame(table, rows, user_metadata, transaction)
        except Exception as error:
            text = str(error)
            if _TOO_MANY_PARTITIONS in text:
                raise TooManyPartitions(f"more than {partitions:,} partitions") from error
            if _TOO_MANY_ROWS in text:
                raise _too_many_rows(frame) from error
            if validator is not None and UNFIT in text:
                _refuse_broken(frame)  # rules without the schema first
                refuse_unfit(frame, validator)
                raise _gives_other_rows() from error
            if _SUSPECT not in text:
                raise
        _refuse_broken(frame)
    raise _gives_other_rows()


def _gives_other_rows() -> InvalidArgument:
    return InvalidArgument(
        "messages: a message broke a rule when it was written, but none does when they are read "
        "again; a DataFrame that gives other rows each time cannot be published: store it first"
    )


def _stamped(
    frame: DataFrame, first_position: int, publish_time: datetime, partitions: int
) -> DataFrame:
    """Add position, publish time and publish date to messages.

    The expression of the position includes the validation, which is evaluated once per row.
    """
    partition = F.shiftright("_id", _ID_BITS)
    row = F.col("_id").bitwiseAND(F.lit((1 << _ID_BITS) - 1))
    position = (
        F.when(partition >= partitions, _fail(_TOO_MANY_PARTITIONS))
        .when(row >= ROWS_OF_PARTITION, _fail(_TOO_MANY_ROWS))
        .otherwise(F.lit(first_position) + F.shiftleft(partition, PARTITION_BITS) + row)
    )
    return frame.withColumn("_id", F.monotonically_increasing_id()).select(
        *(
            {
                "position": position,
                "publish_date": F.expr(sql_day(publish_time)),
                "publish_time": instant(publish_time),
            }.get(name, F.col(name)).alias(name)
            for name in MESSAGES.columns.names
        )
    )


def _fail(text: str) -> Column:
    return F.raise_error(F.lit(text)).cast("bigint")


def _too_many_rows(frame: DataFrame) -> InvalidArgument:
    count = frame.count()
    least = -(-count // ROWS_OF_PARTITION)
    return InvalidArgument(
        f"messages: a partition of the DataFrame has more than {ROWS_OF_PARTITION:,} rows; "
        f"repartition it into at least {max(least, 2):,} partitions"
    )


def check_stream(
    frame: DataFrame, order_by: str | None = None, *, of_messages: bool = True
) -> None:
    """Raise InvalidArgument unless given a streaming DataFrame with the columns of messages.

    ``of_messages``: False for rows of any columns, which become messages later.
    """
    if not getattr(frame, "isStreaming", False):
        raise InvalidArgument(
            f"streaming_df: a {type(frame).__name__} that does not stream; "
            "a streaming DataFrame (spark.readStream) is accepted"
        )
    if of_messages:
        check_columns(frame.schema, order_by)


def conformed(frame: DataFrame, order_by: str | None = None) -> DataFrame:
    """Return data, attributes and ordering_key of a DataFrame, or raise InvalidArgument."""
    with translating_errors(None, of_others=True):
        is_streaming, schema = frame.isStreaming, frame.schema
    if is_streaming:
        raise InvalidArgument(
            "messages: a streaming DataFrame; a batch DataFrame is accepted, "
            "and publish_stream publishes a streaming one"
        )
    columns = _message_columns(check_columns(schema, order_by))
    if order_by is None:
        return frame.select(*columns)
    ordered = frame.select(*columns, F.col(f"`{order_by.replace('`', '``')}`").alias(_ORDER))
    return in_key_order(ordered, F.col(_ORDER)).drop(_ORDER)


def _message_columns(given: Mapping[str, DataType]) -> list[Column]:
    """Return data, attributes and ordering_key as they are stored, of columns of these types."""
    absent = {"data": F.lit(None), "attributes": F.create_map(), "ordering_key": F.lit("")}
    columns = []
    for name, accepted in _ACCEPTED.items():
        column = F.col(name) if name in given else absent[name]
        if given.get(name) != accepted[0]:
            column = column.cast(accepted[0])
        if name == "ordering_key":
            column = F.coalesce(column, F.lit(""))
        columns.append(column.alias(name))
    return columns


def check_columns(schema: StructType, order_by: str | None = None) -> dict[str, DataType]:
    """Return the types of columns by name; InvalidArgument unless all are columns of a message."""
    names = schema.names
    lowered = [name.lower() for name in names]  # as most sessions look for a column
    twice = next((name for name in names if lowered.count(name.lower()) > 1), None)
    if twice is not None:
        raise InvalidArgument(
            f"column {twice!r} appears twice in {names}, in any case of its letters; each once is "
            "accepted"
        )
    given = {column.name: column.dataType for column in schema}
    if order_by is not None and (not isinstance(order_by, str) or order_by not in given):
        raise InvalidArgument(
            f"order_by: {order_by!r} is not a column; one of {', '.join(given)} is accepted"
        )
    if order_by is not None and not _has_an_order(given[order_by]):
        raise InvalidArgument(
            f"order_by: {order_by!r} is {given[order_by].simpleString().upper()}, whose values "
            "Spark does not order; a column of numbers, texts or times is accepted"
        )
    for name, type_ in given.items():
        if name in (*_IGNORED, order_by) and name not in _ACCEPTED:
            continue
        if name not in _ACCEPTED:
            raise InvalidArgument(
                f"column {name!r} is not a column of a message; "
                "data BINARY, attributes MAP<STRING,STRING> and ordering_key STRING are accepted"
            )
        if not any(_fits(type_, accepted) for accepted in _ACCEPTED[name]):
            wanted = " or ".join(each.simpleString().upper() for each in _ACCEPTED[name])
            raise InvalidArgument(
                f"column {name!r} is {type_.simpleString().upper()}; {wanted} is accepted"
            )
    if "data" not in given and "attributes" not in given:
        raise InvalidArgument(
            f"columns {sorted(given)}: neither 'data' nor 'attributes'; at least one is needed"
        )
    return given


_ORDER, _ROW = "_order", "_row"
WHY = "why"
"""The column of ``checked``."""
_ACCEPTED: dict[str, tuple[DataType, ...]] = {
    "data": (BinaryType(), StringType()),
    "attributes": (MapType(StringType(), StringType()),),
    "ordering_key": (StringType(),),
}
"""The columns of a message with their accepted types; the first is the stored one."""


def _fits(given: DataType, accepted: DataType) -> bool:
    """Return whether the type of a column is accepted; NullType always is.

    So is text of a fixed or bounded length, or with a collation, where text is.
    """
    if isinstance(accepted, StringType) and isinstance(given, (StringType, CharType, VarcharType)):
        return True
    if isinstance(given, MapType) and isinstance(accepted, MapType):
        return _fits(given.keyType, accepted.keyType) and _fits(given.valueType, accepted.valueType)
    return isinstance(given, NullType) or given == accepted


def _has_an_order(type_: DataType) -> bool:
    """Return whether Spark sorts values of a type."""
    if isinstance(type_, StructType):
        return all(_has_an_order(each.dataType) for each in type_)
    if isinstance(type_, ArrayType):
        return _has_an_order(type_.elementType)
    return not isinstance(type_, (MapType, VariantType, CalendarIntervalType))


def _failing_unless(valid: Column, frame: DataFrame) -> DataFrame:
    suspect = F.raise_error(F.lit(_SUSPECT)).cast("binary")
    return frame.withColumn("data", F.when(valid, F.col("data")).otherwise(suspect))


def _rules() -> Mapping[str, Column]:
    return {**violations(), **violations_of_frames()}


_FIELDS = {**FIELD_OF_RULE, **OF_FRAMES}


def _broken() -> Column:
    broken = F.lit(False)
    for wrong in _rules().values():
        broken |= wrong
    return broken


def checked(frame: DataFrame, validator: SchemaValidator | None) -> DataFrame:
    """Return rows with ``why``: the rule that the message of a row breaks first, or null.

    Rows have the columns of messages and others, which stay. The schema goes after all rules.
    """
    with translating_errors(None, of_others=True):
        schema = frame.schema
    if WHY in schema.names:
        raise InvalidArgument(f"column {WHY!r} is there already; it is what is added")
    given = check_columns(StructType([each for each in schema if each.name in _ACCEPTED]))
    framed = frame.select(F.struct("*").alias(_ROW), *_message_columns(given))
    broken = [F.when(wrong, F.lit(rule)) for rule, wrong in _rules().items()]
    why = F.coalesce(*broken, *([] if validator is None else [why_unfit(validator)]))
    return framed.withColumn(WHY, why).select(f"{_ROW}.*", WHY)


def _refuse_broken(frame: DataFrame) -> None:
    """Raise InvalidArgument with the number of invalid rows by rule, and one of these rows."""
    wrong = _rules()
    counts = frame.agg(
        *(F.count_if(broken).alias(f"rule{n}") for n, broken in enumerate(wrong.values()))
    ).collect()[0]
    found = {rule: counts[f"rule{n}"] for n, rule in enumerate(wrong) if counts[f"rule{n}"]}
    if not found:
        return
    problems = "; ".join(
        f"column {_FIELDS[rule]!r}: {rule}: {counted(count, 'offending row')}"
        for rule, count in found.items()
    )
    example = frame.where(_broken()).limit(1).select(*map(shortened, frame.columns)).collect()
    shown = f"; one of them: {example[0].asDict()}" if example else ""
    raise InvalidArgument(f"{problems}; nothing was published{shown}")
