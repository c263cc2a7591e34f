"""Publish the rows of a file or table to a topic: the job for spark-submit.

spark-submit --properties-file conf/spark-defaults.conf jobs/publish.py \
        --root /data/pubsub --topic flights --create-topic --input flights.parquet \
        --attribute carrier --ordering-key tailnum --batch-by month --idempotency-id flights-2013
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import inputs
import terminal
from batch_ids import batch_id
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    IntegralType,
    StringType,
    TimestampType,
)

from pubsub_delta import NotFound, PublishResult, PubSub, local_session


@click.command()
@terminal.store_options
@click.option("--input", "path", required=True, help="A file, directory or URL to read.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "json", "parquet", "delta"]),
    help="By default what the name ends in, else Delta or Parquet.",
)
@inputs.message_options
@click.option("--batch-by", help="Publish one batch per value of this column, in its order.")
@click.option(
    "--idempotency-id",
    help="Running again with the same id skips what was published already: with --batch-by the"
    " values that were, whatever other values have come; else the whole input.",
)
def publish(
    root: str,
    project: str,
    summary: Path | None,
    topic: str,
    create_topic: bool,
    path: str,
    format_: str | None,
    data: str | None,
    attributes: tuple[str, ...],
    ordering_key: str | None,
    batch_by: str | None,
    idempotency_id: str | None,
) -> None:
    """Publish the rows of a CSV, JSON, Parquet or Delta input to a topic."""

    def job() -> int:
        spark = local_session(app_name=f"publish to {topic}")
        store = PubSub(spark, root, project=project)
        rows = read_input(spark, path, format_)
        inputs.require(rows, [data, ordering_key, batch_by, *attributes])
        if create_topic:
            inputs.create_unless_there(store, topic)
        told = terminal.Summary("publish")
        batches = split(rows, batch_by, idempotency_id)
        with terminal.progress(f"publish to {topic}", total=rows.count()) as step:
            for name, batch in batches:
                result = store.publish(
                    topic,
                    inputs.as_messages(batch, data, attributes, ordering_key),
                    idempotency_id=name,
                )
                count = written_by(result)
                told.add(count)
                step(count)
        told.finish(summary)
        return 0

    terminal.run(job)


def read_input(spark: SparkSession, path: str, format_: str | None) -> DataFrame:
    """Read the input, by its format or by what its name ends in."""
    chosen = format_ or inputs.format_of(path)
    reader = spark.read.format(chosen)
    if chosen == "csv":
        reader = reader.option("header", True).option("inferSchema", True)
    return inputs.load(reader, path)


Batch = tuple[tuple[str, int] | None, DataFrame]
"""Rows with the idempotency id of their publish, if it has one."""


def split(rows: DataFrame, column: str | None, idempotency_id: str | None) -> Iterator[Batch]:
    """Return the batches in which to publish: each row is in one of them.

    A batch is known by its value alone. Numbered, it would be another one as soon as a value came
    that sorts before it.
    """
    if column is None:
        yield (idempotency_id, 1) if idempotency_id else None, rows
        return
    value, text = inputs.column(column), as_text(rows, column)
    found = rows.groupBy(text.alias("text")).agg(F.min(value).alias("value"))
    skips_files = isinstance(rows.schema[column].dataType, EXACT)
    for row in found.orderBy("value").collect():
        same = text.eqNullSafe(F.lit(row["text"]))
        if skips_files:  # by the statistics of a column, which has no text
            same = value.eqNullSafe(F.lit(row["value"])) & same
        name = batch_id(idempotency_id, column, row["text"]) if idempotency_id else None
        yield name, rows.where(same)


EXACT = (IntegralType, StringType, DateType, BooleanType)
"""Types whose values are the same in Python as in Spark."""


def as_text(rows: DataFrame, column: str) -> Column:
    """Return a column as text that is the same in every session, whatever its time zone is."""
    value, type_ = inputs.column(column), rows.schema[column].dataType
    if isinstance(type_, TimestampType):
        return F.unix_micros(value).cast("string")
    return F.hex(value) if isinstance(type_, BinaryType) else value.cast("string")


def written_by(result: PublishResult) -> int:
    """Return how many messages a publish wrote: 0 where an earlier one did, too long ago."""
    try:
        return result.message_count
    except NotFound:
        return 0


if __name__ == "__main__":
    publish()
