"""The protocol of a lane: the operations on Delta tables that upper layers need, in Delta's words.

Two lanes implement it: ``direct`` by ``deltalake``, in this process, and ``spark`` by SQL and
DataFrames. A table has its name in SQL (``layout``), rows are Arrow, times are aware.

A commit has one of three outcomes. It landed. It did not land: ``Conflict``, as a concurrent writer
was faster, and the caller can decide again. Or it may have landed: after any other error the caller
searches the log for the metadata of its commit.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, Protocol

import pyarrow as pa

from pubsub_delta.errors import Aborted, DataLoss
from pubsub_delta.tables.schemas import TableSchema

Operator = Literal["=", "<", "<=", ">", ">=", "in"]
Condition = tuple[str, Operator, Any]
"""A condition: a column, a comparison, and its value: text, number, aware time or date; a list for
``in``.
"""
Where = Sequence[Condition]
"""Conditions that all hold."""

Match = tuple[str, Literal["=", "<", ">", "is null"], "str | None"]
"""A match: a column of a stored row, a comparison, and a column of the new row; None for ``is
null``. SQL: a comparison with null does not hold.
"""


class Conflict(Aborted):
    """A concurrent writer was faster. Nothing was written, and the caller can decide again."""


class TableMissing(DataLoss):
    """There is no such table: damage, unless its reader expects that."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"{table}: this table is gone, with all that it held: restore it from a copy, or "
            "delete the resource that it belongs to"
        )


@dataclass(frozen=True)
class LoggedCommit:
    """A commit in a table's history.

    ``time``: of the commit, by its writer's clock. ``operation`` and ``metrics``: in the words of
    the library that made the commit. ``user_metadata``: the text that its writer gave it.
    ``overwrites``: whether it is a write with the mode ``Overwrite``.
    """

    version: int
    time: datetime
    operation: str
    metrics: Mapping[str, Any] = field(default_factory=dict)
    user_metadata: str | None = None
    overwrites: bool = False


def is_overwrite(parameters: Mapping[str, Any] | None) -> bool:
    """Tell from a commit's operationParameters whether it replaced rows by those it wrote."""
    return (parameters or {}).get("mode") == "Overwrite"


@dataclass(frozen=True)
class Append:
    """The outcome of an append; it is true if the append landed now.

    ``version``: of its commit; None if the lane would have to read it.
    """

    landed: bool
    version: int | None = None

    def __bool__(self) -> bool:
        return self.landed


@dataclass(frozen=True)
class Merge:
    """A MERGE of new rows into a table.

    ``on``: a stored row matches a new one if all of these conditions hold. ``update``: the columns
    of a matching row that take the new row's values; empty for none. ``insert``: whether to add new
    rows without a match. ``delete``: whether to delete matching rows.
    """

    on: Sequence[Match]
    update: Sequence[str] = ()
    insert: bool = False
    delete: bool = False

    def on_in_sql(self) -> str:
        """Write ``on`` in the SQL that Spark and DataFusion share, of tables ``old`` and ``new``.

        >>> Merge([("name", "=", "name"), ("delete_time", "is null", None)]).on_in_sql()
        'old.name = new.name AND old.delete_time IS NULL'
        """
        return " AND ".join(
            f"old.{column} IS NULL" if new is None else f"old.{column} {operator} new.{new}"
            for column, operator, new in self.on
        )


@dataclass(frozen=True)
class DataFile:
    """A file of a topic's table with its statistics in the log; None if one is missing."""

    rows: int | None
    size: int
    publish_date: date | None
    position_min: int | None
    position_max: int | None
    publish_time_min: datetime | None
    publish_time_max: datetime | None


class Lane(Protocol):
    """Reads and writes tables. Several threads can call every method."""

    name: Literal["direct", "spark"]

    def create(self, table: str, schema: TableSchema, rows: pa.Table | None = None) -> int | None:
        """Create a table unless it exists, with its first rows in the same commit.

        With rows, no other writer may be creating a table of that name. Return the version of that
        commit, None if the lane would have to read it.
        """

    def exists(self, table: str) -> bool:
        """Return whether a table exists."""

    def table_id(self, table: str) -> str | None:
        """Return the id of a Delta table; None without one."""

    def properties(self, table: str) -> Mapping[str, str]:
        """Return a table's properties, perhaps as of an earlier version; TableMissing."""

    def version(self, table: str) -> int:
        """Return the version of the last commit; TableMissing."""

    def last_commit(self, table: str) -> tuple[int, Hashable]:
        """Return the version of the last commit, and a value to compare; TableMissing.

        The value differs where another table was created at this path meanwhile.
        """

    def prefetching(self, *tables: str) -> AbstractContextManager[None]:
        """Start reading the logs of tables, if reading one takes a request.

        The first use of each table by this thread in the block uses that read. So tables can be
        read in another order than they are used: a caller that finds a version in one table must
        read another table again that does not have it yet.
        """

    def history(
        self, table: str, limit: int | None = None, newest: int | None = None
    ) -> list[LoggedCommit]:
        """Return the last commits, newest first; with ``limit=None`` all in the log; TableMissing.

        ``newest``: the version of the last commit, if the caller has just read it. Commits that
        others make meanwhile can come in front of ``limit`` others.
        """

    def read(
        self,
        table: str,
        where: Where = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """Return the present rows, or those of a version; TableMissing."""

    def read_latest(
        self, table: str, known_version: int | None = None
    ) -> tuple[pa.Table, int | None]:
        """Return all present rows, and their version; TableMissing.

        The version is None if it would cost another query. ``known_version``: of the last commit,
        if the caller has just read it.
        """

    def files(self, table: str) -> list[DataFile]:
        """Return the present files of a topic's table; TableMissing."""

    def merge(self, table: str, rows: pa.Table, merge: Merge) -> int:
        """MERGE rows; return how many were updated, inserted or deleted.

        If that is 0, nothing is committed. Without ``insert`` it can be 0 for rows that another
        writer has just changed: the caller reads them again. TableMissing, Conflict.
        """

    def swap(self, table: str, rows: pa.Table, merge: Merge, version: int | None) -> bool:
        """Replace the only row of a table, if it is the expected one; return whether it was.

        ``rows``: the new row, with the columns that ``merge`` compares. ``version``: the version of
        the expected row, None if not known. TableMissing, Conflict.
        """

    def append(
        self,
        table: str,
        rows: pa.Table,
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
        known_version: int | None = None,
    ) -> Append:
        """Append rows in one commit, which carries a text as its user metadata.

        ``transaction``: (application id, version), as in Delta's ``txn`` action. If that version of
        the application, or a later one, has landed before, nothing is written. Conflict if another
        writer uses the same application at the same time. ``known_version``: of the last commit, if
        the caller has just read it.
        """

    def transaction_version(self, table: str, application: str) -> int | None:
        """Return the last version of an application that has landed; None if there is none.

        It is None, too, if the lane cannot read transactions.
        """

    def delete(
        self,
        table: str,
        where: Where,
        user_metadata: str | None = None,
        version: int | None = None,
    ) -> int:
        """DELETE the rows for which conditions hold, without any all; return their number.

        TableMissing, Conflict. ``user_metadata``: a text that no other commit has, by which the
        commit is found if its response was lost. ``version``: rows of later commits stay, and it is
        a Conflict if one has added such rows. Spark's DELETE has neither.
        """

    def drop(self, table: str) -> None:
        """Drop an unused table, if it exists.

        Delta has no DROP for a table at a path, so its rows and their files are deleted.
        """

    def compact(self, table: str) -> int:
        """OPTIMIZE: rewrite small files as few large ones; return how many were replaced."""

    def vacuum(self, table: str) -> None:
        """VACUUM: remove the files that no retained version needs."""

    def clean_log(self, table: str, keep: timedelta) -> int:
        """Write a checkpoint, remove the commits older than ``keep``, and return their number.

        ``keep`` becomes the table's ``delta.logRetentionDuration``, if it differs.
        """

    def locked(self, table: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk.

        Its holder reads, decides and writes without losing a race. Without ``wait`` it is a
        Conflict if another writer holds it. Other storages have no lock.
        """
