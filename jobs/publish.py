"""Publish the rows of a file or table to a topic: the job for spark-submit.

spark-submit --properties-file conf/spark-defaults.conf jobs/publish.py \
        --root /data/pubsub --topic flights --create-topic --input flights.parquet \
        --attribute carrier --ordering-key tailnum --batch-by month --idempotency-id flights-2013
"""

from __future__ import annotations

from pathlib import Path

import click
import inputs
import terminal
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta import PubSub, local_session


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
    help="Running again with the same id skips the batches that were published already.",
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
        batches = split(rows, batch_by)
        with terminal.progress(f"publish to {topic}", total=rows.count()) as step:
            for number, batch in enumerate(batches, start=1):
                result = store.publish(
                    topic,
                    inputs.as_messages(batch, data, attributes, ordering_key),
                    idempotency_id=(idempotency_id, number) if idempotency_id else None,
                )
                told.add(result.message_count)
                step(result.message_count)
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


def split(rows: DataFrame, column: str | None) -> list[DataFrame]:
    """Return the batches in which to publish."""
    if column is None:
        return [rows]
    chosen = inputs.column(column)
    values = [row[0] for row in rows.select(chosen).distinct().orderBy(chosen).collect()]
    return [rows.where(chosen.eqNullSafe(F.lit(value))) for value in values]


if __name__ == "__main__":
    publish()
