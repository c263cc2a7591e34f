"""Publish the rows of a file or table to a topic: the job for spark-submit.

spark-submit --properties-file conf/spark-defaults.conf pubsub_delta/jobs/publish.py \
        --root /data/pubsub --topic flights --create-topic --input flights.parquet \
        --attribute carrier --ordering-key tailnum --batch-by month --idempotency-id flights-2013
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegralType,
    StringType,
    TimestampType,
)

from pubsub_delta import NotFound, PublishResult, PubSub, local_session
from pubsub_delta.jobs import inputs, readers, set_aside, sources, terminal
from pubsub_delta.jobs.idempotency_ids import batch_id


@click.command()
@terminal.store_options
@click.option(
    "--input",
    "path",
    required=True,
    type=terminal.text,
    help="A file, directory or URL to read.",
)
@inputs.reading_options
@click.option(
    "--infer-schema",
    is_flag=True,
    help="Infer the types of CSV columns. Default: all columns are texts.",
)
@inputs.message_options
@click.option(
    "--batch-by",
    type=terminal.text,
    help="Publish one batch per value of this column, in its order.",
)
@click.option(
    "--idempotency-id",
    type=terminal.text,
    help=(
        "A run with the same id skips messages that were published already: with --batch-by by "
        "value, even if there are new values; else the whole input."
    ),
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
    outcome = terminal.Summary("publish")

    def job() -> int:
        spark = local_session(app_name=f"publish to {topic}")
        store = PubSub(spark, root, project=project)
        if not create_topic:
            store.get_topic(topic)
        source = sources.find(spark, path, format_)
        found = readers.read(spark, source, readers.ReadOptions(schema, infer_schema, multiline))
        named = [data, ordering_key, batch_by, *attributes]
        has_columns = bool(inputs.columns_of(found.good))
        if has_columns:
            inputs.require(found.good, named)
        messages = partial(
            inputs.message_columns, data=data, attributes=attributes, ordering_key=ordering_key
        )
        held = found
        if bad_records is not None and has_columns:
            held = set_aside.held(found, messages, store, topic)
        counted = held.count()
        if counted.bad and bad_records is None:
            raise found.refusal(spark, counted.first, counted.bad)
        # A file can be changed after its records are counted.
        good = held.good if counted.bad else found.checked
        if counted.good:
            inputs.require(good, named)
        if create_topic:
            inputs.create_unless_there(store, topic)
        if bad_records is not None and counted.bad:
            set_aside.add_to(bad_records, held)
            outcome.counts[f"bad records, in {bad_records}"] = counted.bad
        if not counted.good:
            store.get_topic(topic)
            told = f"publish to {topic}: {path} has no rows to publish"
            terminal.console.print(told, soft_wrap=True)
        batches = split(good, batch_by, idempotency_id) if counted.good else iter(())
        with (
            terminal.progress(f"publish to {topic}", total=counted.good) as step,
            found.telling_failures(spark),
        ):
            for name, batch in batches:
                rows = batch.select(*messages(batch))
                result = store.publish(topic, rows, idempotency_id=name)
                count = written_by(result)
                outcome.add(count)
                step(count)
        return 0

    terminal.run(job, outcome.finishing(summary))


Batch = tuple[tuple[str, int] | None, DataFrame]
"""Rows, and the idempotency ID of their publish, or None."""


def split(rows: DataFrame, column: str | None, idempotency_id: str | None) -> Iterator[Batch]:
    """Return the batches to publish; each row is in one of them.

    The value identifies a batch, not its number, which would change with a value before it.
    """
    if column is None:
        yield (idempotency_id, 1) if idempotency_id else None, rows
        return
    value, text = inputs.column(column), as_text(rows, column)
    # named twice: a session may leave out the columns by which Spark groups
    grouped = rows.groupBy(text.alias("_text"))
    found = grouped.agg(text.alias("text"), F.min(value).alias("value"))
    for row in found.orderBy("value").select("text").collect():
        known = None if row["text"] is None else bytes(row["text"])
        same, exact = text.eqNullSafe(F.lit(known)), literal(known, rows.schema[column].dataType)
        if exact is not None:  # uses the column's statistics; its text has none
            same = value.eqNullSafe(exact) & same
        name = batch_id(idempotency_id, column, known) if idempotency_id else None
        yield name, rows.where(same)


def as_text(rows: DataFrame, column: str) -> Column:
    """Return a column as the bytes of its text, which do not depend on the session time zone.

    Spark stores texts that are no UTF-8; two of these may be one text in Python.
    """
    value, type_ = inputs.column(column), rows.schema[column].dataType
    if isinstance(type_, TimestampType):
        text = F.unix_micros(value).cast("string")
    else:
        text = F.hex(value) if isinstance(type_, BinaryType) else value.cast("string")
    return text.cast("binary")


def literal(text: bytes | None, type_: DataType) -> Column | None:
    """Return a value by its text, where Spark surely reads the same; None otherwise.

    Spark reads a date from its text: one of Python's passes through Java's old calendar.
    """
    if not isinstance(type_, (IntegralType, StringType, DateType, BooleanType)):
        return None
    try:
        written = F.lit(None if text is None else text.decode())
    except UnicodeDecodeError:
        return None
    return written if isinstance(type_, StringType) else written.cast(type_)


def written_by(result: PublishResult) -> int:
    """Return the number of messages of a publish; 0 if an earlier run wrote them long ago."""
    try:
        return result.message_count
    except NotFound:
        return 0


if __name__ == "__main__":
    publish()
