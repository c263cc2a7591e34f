"""Appends rows of the consuming jobs to Delta tables."""

from __future__ import annotations

from typing import Any

import click
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from pubsub_delta import InvalidArgument

merge_schema_option = click.option(
    "--merge-schema",
    is_flag=True,
    help="Add missing columns to the table. By default they are refused.",
)


def append(rows: DataFrame, output: str, *, merge_schema: bool, **options: Any) -> None:
    """Append to a Delta table: a path if it has a slash, else a name in the catalog.

    InvalidArgument if the table has other columns, or cannot be written.
    """
    if merge_schema:
        options["mergeSchema"] = True
    writer = rows.write.format("delta").mode("append").options(**options)
    try:
        if "/" in output:
            writer.save(output)
        else:
            writer.saveAsTable(output)
    except AnalysisException as error:
        why = next(iter(str(error).splitlines()), "")
        hint = "" if merge_schema else "; --merge-schema adds columns that the table does not have"
        raise InvalidArgument(f"--output: {output!r} cannot be written: {why}{hint}") from None
