r"""Publish files or a Delta table to a topic as they grow, by a streaming query, for spark-submit.

    spark-submit --properties-file conf/spark-defaults.conf jobs/stream_publish.py \
        --root /data/pubsub --topic flights --create-topic --input /data/arriving --format json \
        --schema "carrier STRING, tailnum STRING" --attribute carrier \
        --checkpoint /data/arriving_checkpoint

Every row is published once, however often the job is killed and started again: each micro-batch is
one commit of the topic, under the query's id and its own number.
"""

from __future__ import annotations

from pathlib import Path

import click
import inputs
import terminal
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta import InvalidArgument, PubSub, local_session


@click.command()
@terminal.store_options
@click.option("--input", "path", required=True, help="A directory of files, or a Delta table.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "json", "parquet", "delta"]),
    help="By default Delta for a Delta table, else Parquet.",
)
@click.option("--schema", help="The columns of CSV, JSON or Parquet files, as in SQL.")
@terminal.stream_options
@inputs.message_options
def stream_publish(
    root: str,
    project: str,
    summary: Path | None,
    topic: str,
    create_topic: bool,
    path: str,
    format_: str | None,
    schema: str | None,
    checkpoint: str,
    interval: str,
    available_now: bool,
    data: str | None,
    attributes: tuple[str, ...],
    ordering_key: str | None,
) -> None:
    """Publish what arrives in a directory or a Delta table to a topic, each row exactly once."""

    def job() -> int:
        spark = local_session(app_name=f"stream to {topic}")
        store = PubSub(spark, root, project=project)
        rows = read_stream(spark, path, format_ or inputs.format_of(path), schema)
        inputs.require(rows, [data, ordering_key, *attributes])
        if create_topic:
            inputs.create_unless_there(store, topic)
        told = terminal.Summary("stream_publish")
        query = store.publish_stream(
            topic,
            inputs.as_messages(rows, data, attributes, ordering_key),
            checkpoint_location=checkpoint,
            trigger=terminal.trigger(interval, available_now=available_now),
        )
        terminal.follow(query, told, lambda progress: int(progress["numInputRows"]))
        told.finish(summary)
        return 0

    terminal.run(job)


def read_stream(spark: SparkSession, path: str, format_: str, schema: str | None) -> DataFrame:
    """Read what is in a directory or a Delta table, and then what arrives there."""
    reader = spark.readStream.format(format_)
    if format_ != "delta":
        if not schema:
            raise InvalidArgument(f"--schema: none; a stream of {format_} files needs its columns")
        reader = reader.schema(schema)
    if format_ == "csv":
        reader = reader.option("header", True)
    return inputs.load(reader, path)


if __name__ == "__main__":
    stream_publish()
