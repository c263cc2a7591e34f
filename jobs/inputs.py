"""What the publishing jobs share: which inputs they read, and how rows become messages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader

from pubsub_delta import AlreadyExists, InvalidArgument, PubSub

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def message_options(command: Command) -> Command:
    """Add the options that say where messages go and which columns they are made of."""
    for option in (
        click.option("--ordering-key", help="The column that is the ordering key."),
        click.option(
            "--attribute", "attributes", multiple=True, help="A column to add as attribute."
        ),
        click.option("--data", help="The column that is the message. Default: all, as JSON."),
        click.option("--create-topic", is_flag=True, help="Create the topic if it is not there."),
        click.option("--topic", required=True, help="The topic's id or full name."),
    ):
        command = option(command)
    return command


def load(reader: DataFrameReader | DataStreamReader, path: str) -> DataFrame:
    """Read an input; one that cannot be read is refused in one line."""
    try:
        return reader.load(path)
    except Exception as error:
        raise InvalidArgument(
            f"--input: {path!r} cannot be read: {str(error).splitlines()[0]}"
        ) from None


def format_of(path: str) -> str:
    """Return the format of an input by what its name ends in, else Delta or Parquet."""
    ending = FORMATS.get(Path(path.rstrip("/")).suffix)
    return ending or ("delta" if (Path(path) / "_delta_log").is_dir() else "parquet")


def require(rows: DataFrame, columns: list[str | None]) -> None:
    """Refuse columns that the input does not have."""
    for column in columns:
        if column is not None and column not in rows.columns:
            raise InvalidArgument(
                f"column {column!r} is not in the input; it has {', '.join(rows.columns)}"
            )


def create_unless_there(store: PubSub, topic: str) -> None:
    """Create a topic, or take the one that is there."""
    with suppress(AlreadyExists):
        store.create_topic(topic)


def column(name: str) -> Column:
    """Return the column of a name, whatever stands in it."""
    return F.col(f"`{name.replace('`', '``')}`")


def as_messages(
    rows: DataFrame, data: str | None, attributes: tuple[str, ...], ordering_key: str | None
) -> DataFrame:
    """Make messages of rows; an attribute or key without value is left out."""
    payload = column(data) if data else F.to_json(F.struct("*"))
    columns = [payload.cast("binary").alias("data")]
    if attributes:
        pairs: list[Column] = []
        for name in attributes:
            pairs += [F.lit(name), column(name).cast("string")]
        present = F.map_filter(F.create_map(*pairs), lambda _, value: value.isNotNull())
        columns.append(present.alias("attributes"))
    if ordering_key:
        key = F.coalesce(column(ordering_key).cast("string"), F.lit(""))
        columns.append(key.alias("ordering_key"))
    return rows.select(*columns)
