"""Options of the publishing jobs, and the conversion of rows to messages."""

from __future__ import annotations

from contextlib import suppress

import click
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pubsub_delta import AlreadyExists, InvalidArgument, PubSub
from pubsub_delta.jobs import terminal
from pubsub_delta.jobs.option_groups import options

LINE = "_pubsub_delta_line"
"""The column of the original JSON object, which is the data of the message."""

AS_JSON = {
    "ignoreNullFields": "true",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""JSON options: times in UTC with microseconds, and no nulls, whatever the session's settings."""

_NESTED = (T.ArrayType, T.MapType, T.StructType, T.VariantType)


message_options = options(
    click.option("--topic", required=True, type=terminal.text, help="The topic's id or full name."),
    click.option("--create-topic", is_flag=True, help="Create the topic if it does not exist."),
    click.option(
        "--data",
        type=terminal.text,
        help="The column of the data. Default: all columns, as JSON.",
    ),
    click.option(
        "--attribute",
        "attributes",
        multiple=True,
        type=terminal.text,
        help="A column to add as an attribute.",
    ),
    click.option("--ordering-key", type=terminal.text, help="The column of the ordering key."),
)
"""The options of the topic, and of the columns of messages."""


reading_options = options(
    click.option(
        "--format",
        "format_",
        type=click.Choice(["csv", "json", "parquet", "delta", "table"]),
        help=(
            "Default: by the names of the files, or Delta for a Delta table. table: --input "
            "names a table or view of the catalog."
        ),
    ),
    click.option(
        "--schema",
        type=terminal.text,
        help="The columns of CSV, JSON or Parquet files, as in SQL.",
    ),
    click.option(
        "--multiline",
        is_flag=True,
        help="Read a JSON file as one array or object, and CSV texts with line breaks.",
    ),
    click.option(
        "--bad-records",
        type=terminal.text,
        metavar="PATH",
        help=(
            "Add bad records to JSON files in this directory, and publish the rest. By "
            "default a bad record stops the job."
        ),
    ),
)
"""The options for reading an input."""


def require(rows: DataFrame, columns: list[str | None]) -> None:
    """Raise InvalidArgument for columns that the input does not have."""
    there = columns_of(rows)
    for column in columns:
        if column is not None and column not in there:
            raise InvalidArgument(
                f"column {column!r} is not in the input, whose columns are {', '.join(there)}"
            )


def columns_of(rows: DataFrame) -> list[str]:
    """Return the names of the input's own columns."""
    return [name for name in rows.columns if name != LINE]


def create_unless_there(store: PubSub, topic: str) -> None:
    """Create a topic unless it exists."""
    with suppress(AlreadyExists):
        store.create_topic(topic)


def column(name: str) -> Column:
    """Return a column by its name, with any characters."""
    return F.col(f"`{name.replace('`', '``')}`")


def message_columns(
    rows: DataFrame,
    data: str | None,
    attributes: tuple[str, ...],
    ordering_key: str | None,
    whole: Column | None = None,
) -> list[Column]:
    """Return data, attributes and ordering key of rows; null attributes and keys are left out.

    Without a data column the data is the original JSON object, or else all columns as JSON.
    ``whole``: these columns as a struct, where the rows have others.
    """

    def text(name: str) -> Column:
        return text_of(column(name), rows.schema[name].dataType)

    if data:
        payload = text(data)
    else:
        of_all = F.struct("*") if whole is None else whole
        payload = column(LINE) if LINE in rows.columns else F.to_json(of_all, AS_JSON)
    present, key = F.create_map().cast("map<string,string>"), F.lit("")
    if attributes:
        pairs: list[Column] = []
        for name in dict.fromkeys(attributes):
            pairs += [F.lit(name), text(name).cast("string")]
        present = F.map_filter(F.create_map(*pairs), lambda _, value: value.isNotNull())
    if ordering_key:
        key = F.coalesce(text(ordering_key).cast("string"), F.lit(""))
    return [
        payload.cast("binary").alias("data"),
        present.alias("attributes"),
        key.alias("ordering_key"),
    ]


def text_of(value: Column, type_: T.DataType) -> Column:
    """Return a value as text; bytes stay bytes.

    Times are ISO 8601, in UTC if they have a time zone. Nested values are JSON.
    """
    if isinstance(type_, (T.StringType, T.BinaryType)):
        return value
    if isinstance(type_, (T.TimestampType, T.TimestampNTZType)):
        quoted = F.to_json(F.array(value), AS_JSON)  # ["…"]
        return F.when(value.isNotNull(), F.substring(quoted, F.lit(3), F.length(quoted) - 4))
    return F.to_json(value, AS_JSON) if isinstance(type_, _NESTED) else value.cast("string")
