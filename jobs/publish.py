"""Publish the rows of a file or table to a topic: the job for spark-submit.

spark-submit --properties-file conf/spark-defaults.conf jobs/publish.py \
        --root /data/pubsub --topic flights --create-topic --input flights.parquet \
        --attribute carrier --ordering-key tailnum --batch-by month --idempotency-id flights-2013
"""

from __future__ import annotations

from pathlib import Path

import click
import inputs
import reading
import sources
import terminal
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta import PubSub, local_session


@click.command()
@terminal.store_options
@click.option("--input", "path", required=True, help="A file, directory or URL to read.")
@inputs.reading_options
@click.option(
    "--infer-schema", is_flag=True, help="Find out the types of CSV; else all columns are texts."
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
    schema: str | None,
    multiline: bool,
    bad_records: str | None,
    infer_schema: bool,
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
        source = sources.find(spark, path, format_)
        found = reading.read(spark, source, reading.Reading(schema, infer_schema, multiline))
        rows, told = found.good, terminal.Summary("publish")
        counted = found.count()
        if counted.bad and bad_records is None:
            raise found.refusal(spark, counted.first, counted.bad)
        if counted.good or inputs.columns_of(rows):
            inputs.require(rows, [data, ordering_key, batch_by, *attributes])
        if create_topic:
            inputs.create_unless_there(store, topic)
        if bad_records is not None and counted.bad:
            found.bad.coalesce(1).write.mode("append").json(bad_records)
            told.figures[f"bad records, in {bad_records}"] = counted.bad
        if not counted.good:
            store.get_topic(topic)
            terminal.console.print(f"publish to {topic}: {path} has no rows to publish")
        batches = split(rows, batch_by) if counted.good else []
        with terminal.progress(f"publish to {topic}", total=counted.good) as step:
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


def split(rows: DataFrame, column: str | None) -> list[DataFrame]:
    """Return the batches in which to publish."""
    if column is None:
        return [rows]
    chosen = inputs.column(column)
    values = [row[0] for row in rows.select(chosen).distinct().orderBy(chosen).collect()]
    return [rows.where(chosen.eqNullSafe(F.lit(value))) for value in values]


if __name__ == "__main__":
    publish()
