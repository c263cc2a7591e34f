"""Validates DataFrames of messages against a schema, and reads their fields as columns.

Python functions on the executors handle each row, so executors need the extra ``schemas``, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas import functions as of_batches

from pubsub_delta.errors import InvalidArgument, counted
from pubsub_delta.policy.schemas.validation import SchemaMismatch, SchemaValidator, TypedReader
from pubsub_delta.tables.lanes.spark.types import spark_schema
from pubsub_delta.tables.typed import typed_rows, typed_schema

UNFIT = "pubsub_delta: this message does not fit the schema"
_REVISION, _REASON = "_revision_id", "_reason"


def validated(frame: DataFrame, validator: SchemaValidator) -> DataFrame:
    """Return messages with the attributes of their schema; a message that does not fit it fails."""
    attributes = validator.attributes("")
    pairs = [F.lit(text) for pair in list(attributes.items())[:-1] for text in pair]
    revision = F.when(F.col(_REVISION).isNull(), F.raise_error(F.lit(UNFIT)).cast("string"))
    added = F.create_map(*pairs, F.lit(list(attributes)[-1]), revision.otherwise(F.col(_REVISION)))
    own = F.coalesce(F.col("attributes"), F.create_map().cast("map<string,string>"))
    found = frame.withColumn(_REVISION, _column(_revisions(validator)))
    return found.withColumn("attributes", F.map_concat(own, added)).drop(_REVISION)


def refuse_unfit(frame: DataFrame, validator: SchemaValidator) -> None:
    """Raise InvalidArgument with the number of rows that do not fit, and one of them."""
    unfit = frame.withColumn(_REASON, _column(_reasons(validator))).where(f"{_REASON} IS NOT NULL")
    count = unfit.count()
    example = unfit.limit(1).select(_REASON, *map(shortened, frame.columns)).collect()
    if not count or not example:
        return
    row = example[0].asDict()
    problem = f"column 'data': {validator.refused(row.pop(_REASON))}"
    rows = counted(count, "offending row")
    raise InvalidArgument(f"{problem}: {rows}; nothing was published; one of them: {row}")


def why_unfit(validator: SchemaValidator) -> Column:
    """Return why the data of each message does not fit a schema, in words; null if it does."""
    return F.concat(F.lit(f"data: {validator.refused('')}"), _column(_reasons(validator)))


def shortened(name: str) -> Column:
    """Return a column as text of at most 80 characters, for an error."""
    text = F.make_valid_utf8(F.col(name).cast("string"))
    return (
        F.when(F.length(text) > 80, F.concat(F.left(text, F.lit(77)), F.lit("...")))
        .otherwise(text)
        .alias(name)
    )


def typed(messages: DataFrame, typing: TypedReader) -> DataFrame:
    """Return messages with the fields of their data as columns."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from typed_rows(pa.Table.from_batches([batch]), typing).to_batches()

    return messages.mapInArrow(read, spark_schema(typed_schema(typing)))


def _column(of_data: Callable[[bytes], str | None]) -> Column:
    data = F.coalesce(F.col("data"), F.lit(b""))
    arrow_udf = getattr(of_batches, "arrow_udf", None)
    if arrow_udf is None:  # Spark 4.0 has it not: a row at a time
        return F.udf(lambda each: of_data(bytes(each)), "string")(data)

    def of_batch(batch: pa.Array) -> pa.Array:
        return pa.array([of_data(each.as_py()) for each in batch], pa.string())

    column: Column = arrow_udf(of_batch, "string")(data)
    return column


def _revisions(validator: SchemaValidator) -> Callable[[bytes], str | None]:
    def revision_of(data: bytes) -> str | None:
        try:
            return validator.revision_of(data)
        except SchemaMismatch:
            return None

    return revision_of


def _reasons(validator: SchemaValidator) -> Callable[[bytes], str | None]:
    def reason_of(data: bytes) -> str | None:
        try:
            validator.revision_of(data)
        except SchemaMismatch as why:
            return str(why)
        return None

    return reason_of
