"""The protocol of a lane: what the layers above need of a Delta table, in Delta's own words.

Two lanes implement it: ``direct`` by ``deltalake``, in this process, and ``spark`` by SQL and
DataFrames. A table is named as it stands in SQL (``layout``), rows are Arrow, times are aware.

A commit has one of three outcomes. It landed. It did not land: ``Conflict``, as a concurrent writer
was faster, and the caller may decide again. Or it may have landed: after any other error the caller
looks for what the commit carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, Protocol

import pyarrow as pa

from pubsub_delta.errors import DataLoss
from pubsub_delta.tables.schemas import TableSchema

Operator = Literal["=", "<", "<=", ">", ">=", "in", "starts with", "is null", "is not null"]
Condition = tuple[str, Operator, Any]
"""A column, how it is compared, and with what: text, number, aware time or date; a list for ``in``,
None for the last two."""
Where = Sequence[Condition]
"""Conditions that all hold."""

Match = tuple[str, Literal["=", "<", ">", "is null"], "str | None"]
"""A column of a stored row, how it is compared, and with which column of the new row; None for
``is null``. SQL: a comparison with null does not hold."""


class Conflict(Exception):
    """A concurrent writer was faster. Nothing was written."""


class TableMissing(DataLoss):
    """There is no such table: damage, unless its reader expects that."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"{table}: this table is gone, with all that it held: restore it from a copy, or "
            "delete the resource that it belongs to"
        )


@dataclass(frozen=True)
class LoggedCommit:
    """A commit as a table's history has it.

    ``time``: of the commit, by its writer's clock. ``operation`` and ``metrics``: as the library
    names them that made the commit. ``user_metadata``: the text that its writer gave it.
    """

    version: int
    time: datetime
    operation: str
    metrics: Mapping[str, Any] = field(default_factory=dict)
    user_metadata: str | None = None


@dataclass(frozen=True)
class Append:
    """The outcome of an append; it is true if the append landed now.

    ``version``: that of its commit; None where the lane would have to read it.
    """

    landed: bool
    version: int | None = None

    def __bool__(self) -> bool:
        return self.landed


@dataclass(frozen=True)
class Merge:
    """A MERGE of new rows into a table.

    ``on``: which stored rows match a new one: those for which all conditions hold. ``update``: the
    columns that take the new row's values where a stored row matches; empty for none. ``insert``:
    whether new rows without a match are added. ``delete``: whether stored rows that match go.
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
    """A file of a topic's table with its statistics in the log; None where one is missing."""

    rows: int | None
    size: int
    publish_date: date | None
    position_min: int | None
    position_max: int | None
    publish_time_min: datetime | None
    publish_time_max: datetime | None


class Lane(Protocol):
    """Reads and writes tables. Every method may be called by several threads."""

    name: Literal["direct", "spark"]

    def create(self, table: str, schema: TableSchema, rows: pa.Table | None = None) -> int | None:
        """Create a table unless it exists, with its first rows in the same commit.

        With rows the name must be one that no other writer can be creating. Return the version of
        that commit, None where the lane would have to read it.
        """

    def exists(self, table: str) -> bool:
        """Tell whether a table exists."""

    def table_id(self, table: str) -> str | None:
        """Return the id that Delta gave a table when it was created; None where there is none."""

    def properties(self, table: str) -> Mapping[str, str]:
        """Return a table's properties, perhaps as of an earlier version; TableMissing."""

    def version(self, table: str) -> int:
        """Return the version of the last commit; TableMissing."""

    def prefetching(self, *tables: str) -> AbstractContextManager[None]:
        """Begin to read the logs of tables, where reading one takes as long as a request.

        The first use of each table by this thread within the context takes what was read. So tables
        may be read in another order than they are used: who finds a version in one table must read
        another table again that does not have it yet.
        """

    def history(
        self, table: str, limit: int | None = None, newest: int | None = None
    ) -> list[LoggedCommit]:
        """Return the last commits, newest first; with ``limit=None`` all in the log; TableMissing.

        ``newest``: the version of the last commit, where the caller has just read it.
        """

    def read(
        self,
        table: str,
        where: Where = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """Return rows as they are now, or were at a version; TableMissing."""

    def read_latest(
        self, table: str, known_version: int | None = None
    ) -> tuple[pa.Table, int | None]:
        """Return all rows as they are now, and the version that they are of; TableMissing.

        The version is None where it would cost another query. ``known_version``: that of the last
        commit, where the caller has just read it.
        """

    def files(self, table: str) -> list[DataFile]:
        """Return the files of a topic's table as they are now; TableMissing."""

    def merge(self, table: str, rows: pa.Table, merge: Merge) -> int:
        """MERGE rows; return how many rows of the table changed, came or went.

        Nothing is committed where that is 0. Without ``insert`` it may be 0 for rows that another
        writer has just changed: the caller reads them again. TableMissing, Conflict.
        """

    def swap(self, table: str, rows: pa.Table, merge: Merge, version: int | None) -> bool:
        """Replace the only row of a table, if it is the expected one; tell whether it was.

        ``rows``: the new row, with the columns that ``merge`` compares. ``version``: the one that
        the expected row was read at, None where that is not known. TableMissing, Conflict.
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

        ``transaction``: (application id, version), as Delta's ``txn`` action has them. Where that
        version of the application, or a later one, has landed before, nothing is written. Conflict
        where another writer uses the
        same application at the same time. ``known_version``: that of the last commit, where the
        caller has just read it.
        """

    def transaction_version(self, table: str, application: str) -> int | None:
        """Return the last version of an application that has landed; None if there is none.

        It is None, too, where the lane cannot read transactions.
        """

    def delete(self, table: str, where: Where) -> int:
        """DELETE the rows for which conditions hold, without any all rows; return their number."""

    def delete_row(self, table: str, where: Where, user_metadata: str) -> bool:
        """DELETE the row for which conditions hold; tell whether it existed. TableMissing.

        Conflict where a concurrent writer was faster. ``user_metadata``: a text that no other
        commit has, so that the commit is found where its answer was lost.
        """

    def clone(self, source: str, version: int, target: str, schema: TableSchema) -> None:
        """Create a table with the rows that another table had at a version."""

    def drop(self, table: str) -> None:
        """Drop a table that is not used any more, if it exists.

        Delta has no DROP for a table at a path: its rows and their files are deleted.
        """

    def compact(self, table: str) -> int:
        """OPTIMIZE: rewrite small files as few large ones; return how many were replaced."""

    def vacuum(self, table: str) -> None:
        """VACUUM: remove the files that no version needs which the table's properties retain."""

    def clean_log(self, table: str, keep: timedelta) -> int:
        """Write a checkpoint, remove the commits older than ``keep``, and return how many.

        ``keep`` becomes the table's ``delta.logRetentionDuration``, if that is another one.
        """

    def locked(self, table: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk.

        Its holder may read, decide and write without losing a race. Without ``wait`` it is a
        Conflict if another writer holds it. Other storages have no lock.
        """
