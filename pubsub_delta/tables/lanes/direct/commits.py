"""Commits by ``deltalake``: their properties, overwriting, and reading them back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pyarrow as pa
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import DeltaError

from pubsub_delta.clock import from_micros
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.lanes.protocol import LoggedCommit, is_overwrite
from pubsub_delta.tables.schemas import TableSchema

_COUNTED_UP = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
MESSAGES_WRITTEN = WriterProperties(
    # Measured with JSON of 70 bytes: 10 bytes a row by 18 (snappy) and 60 (none), at equal speed.
    compression="ZSTD",
    max_row_group_size=65_536,  # so that few messages of a large file are not read with all others
    column_properties={
        "position": _COUNTED_UP,
        "publish_time": _COUNTED_UP,
        "data": ColumnProperties(dictionary_enabled=False),
    },
)

_ONLY_NEXT = CommitProperties(max_commit_retries=0)
"""The commit lands as the version after the one that its table is open at, or not at all."""
NO_CLEANUP = PostCommitHookProperties(cleanup_expired_logs=False)
"""Skips the search for expired commits, which asks for the status of every file of the log.

``tidy_control`` searches at times.
"""

_OMITTED = {
    # deltalake creates tables of the lowest protocol, unless a property requires more.
    "delta.minReaderVersion",
    "delta.minWriterVersion",
    # deltalake does not know them, and no session default could set them here.
    "delta.columnMapping.mode",
    "delta.enableInCommitTimestamps",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
}

_NO_SUCH_VERSION = 1 << 40
_NEWEST = re.compile(
    r"no new commits were found after existing snapshot version (\d+)"
    r"|LogSegment end version (\d+) not the same as the specified end version"
)


def newest_version(opened: DeltaTable) -> int | None:
    """Return the version of the last commit, by one listing of the log; None if that fails.

    This loads a version that no table has, and reads the last version from the error. By
    ``update_incremental`` it would take another request, for a checkpoint.
    """
    try:
        opened.load_as_version(_NO_SUCH_VERSION)
    except DeltaError as error:
        found = _NEWEST.search(str(error))
        return None if found is None else int(found[1] or found[2])
    return None


def has_landed(opened: DeltaTable, transaction: tuple[str, int] | None) -> bool:
    """Return whether a transaction, or a later one of its application, has landed."""
    landed = None if transaction is None else opened.transaction_version(transaction[0])
    return landed is not None and transaction is not None and landed >= transaction[1]


def properties_of_table(schema: TableSchema) -> dict[str, str]:
    """Return the properties by which ``deltalake`` creates a table."""
    return {key: value for key, value in schema.properties.items() if key not in _OMITTED}


def properties_of_commit(
    metadata: dict[str, Any], transaction: tuple[str, int] | None, *, only_next: bool = False
) -> CommitProperties:
    """Return the properties of a commit with metadata and a transaction.

    ``only_next``: it lands as the version after the one that its table is open at, or not at all.
    """
    transactions = None if transaction is None else [Transaction(*transaction)]
    return CommitProperties(
        custom_metadata=metadata,
        app_transactions=transactions,
        max_commit_retries=0 if only_next else None,
    )


def write_over(opened: DeltaTable, rows: pa.Table) -> pa.Table:
    """Replace all rows of a table, if no commit has followed the version that it is open at.

    Return the rows that were written, with the columns that the table has.
    """
    written = completed(rows, pa.schema(opened.schema().to_arrow()))
    write_deltalake(
        opened,
        written,
        mode="overwrite",
        commit_properties=_ONLY_NEXT,
        post_commithook_properties=NO_CLEANUP,
    )
    return written


def with_columns_of(opened: DeltaTable, rows: pa.Table) -> pa.Table:
    """Return rows with the columns of a table; those that another program has added are null.

    FailedPrecondition if the table lacks a column of the rows.
    """
    columns = pa.schema(opened.schema().to_arrow())
    if columns.names == rows.column_names:
        return rows
    lacking = [name for name in rows.column_names if name not in columns.names]
    if lacking:
        raise FailedPrecondition(
            f"{opened.table_uri}: it has no column {', '.join(lacking)}; another program has "
            "changed its columns: restore the table to an earlier version"
        )
    return completed(rows, columns)


def completed(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """Return rows with all columns of a table; those that they lack are null."""
    return pa.Table.from_arrays(
        [
            rows[each.name].cast(each.type)
            if each.name in rows.column_names
            else pa.nulls(rows.num_rows, each.type)
            for each in columns
        ],
        schema=columns,
    )


def logged(commit: Mapping[str, Any], version: int) -> LoggedCommit:
    """Read a commit of ``deltalake``'s history; the version in it may be wrong."""
    return LoggedCommit(
        version=version,
        time=from_micros(0) + timedelta(milliseconds=int(commit["timestamp"])),
        operation=str(commit["operation"]),
        metrics=commit.get("operationMetrics") or {},
        user_metadata=commit.get("userMetadata"),
        overwrites=is_overwrite(commit.get("operationParameters")),
    )
