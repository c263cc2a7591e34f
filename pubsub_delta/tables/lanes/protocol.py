"""What the layers above need of a Delta table, in the words of Delta's protocol.

Two lanes implement it: ``direct`` by ``deltalake``, in this process, and ``spark`` by SQL and
DataFrames. A table is named as it stands in SQL (``layout``), rows are Arrow, times are aware.

Three things can become of a commit. It landed; it did not (``Conflict``: a concurrent writer was
faster, and the caller may decide again); or the answer was lost, and any other error leaves it
open: who must know then looks for what the commit carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, Protocol

import pyarrow as pa

from pubsub_delta.tables.schemas import TableSchema

Operator = Literal["=", "<", "<=", ">", ">=", "in", "starts with", "is null", "is not null"]
Condition = tuple[str, Operator, Any]
"""A column, how it is compared, and with what: text, number, aware time or date; a list for ``in``,
None for the last two."""
Where = Sequence[Condition]
"""Conditions that all hold."""


class Conflict(Exception):
    """A concurrent writer was faster. Nothing was written."""


class TableMissing(Exception):
    """There is no such table."""


@dataclass(frozen=True)
class LoggedCommit:
    """A commit as a table's history tells it.

    ``time``: when it was made, by the clock of who made it. ``operation`` and ``metrics``: in the
    words of the library that made it. ``user_metadata``: what the writer gave it to carry.
    """

    version: int
    time: datetime
    operation: str
    metrics: Mapping[str, Any] = field(default_factory=dict)
    user_metadata: str | None = None


@dataclass(frozen=True)
class Append:
    """What became of an append; it is true if it has landed now.

    ``version``: of its commit, None where the lane would have to look for it.
    """

    landed: bool
    version: int | None = None

    def __bool__(self) -> bool:
        return self.landed


@dataclass(frozen=True)
class Merge:
    """A MERGE of rows (``new``) into a table (``old``).

    ``on``: a condition in the SQL that Spark and DataFusion share. ``update``: the columns that
    take the values of ``new`` where a row matches; empty for none. ``insert``: whether rows without
    a match are added, with all columns of the table. ``delete``: whether a row that matches goes.
    """

    on: str
    update: Sequence[str] = ()
    insert: bool = False
    delete: bool = False


@dataclass(frozen=True)
class DataFile:
    """A file of a topic's table, as the log's statistics tell it; None what they do not."""

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

        With rows the name must be one that nobody else can be creating. Return the version that
        they are of, None where the lane would have to look.
        """

    def exists(self, table: str) -> bool:
        """Tell whether a table is there."""

    def table_id(self, table: str) -> str | None:
        """Return the id that Delta gave a table when it was created; None where there is none."""

    def properties(self, table: str) -> Mapping[str, str]:
        """Return a table's properties as of a commit that the lane has seen; TableMissing."""

    def version(self, table: str) -> int:
        """Return the version of the last commit; TableMissing."""

    def looking_ahead(self, *tables: str) -> AbstractContextManager[None]:
        """Begin to look at tables, where each look takes as long as a request does.

        The first look at each of them within the context, by this thread, is that one. So what is
        looked at in an order may be seen in another one: a table whose last commit is told by
        another table must be looked at again where it does not have that.
        """

    def history(
        self, table: str, limit: int | None = None, newest: int | None = None
    ) -> list[LoggedCommit]:
        """Return the last commits, newest first; None means all that are known; TableMissing.

        ``newest``: the version of the last commit, where the caller has just looked.
        """

    def read(
        self,
        table: str,
        where: Where = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """Return rows as they are now, or were at a version; TableMissing."""

    def read_latest(self, table: str, seen: int | None = None) -> tuple[pa.Table, int | None]:
        """Return all rows as they are now, and the version that they are of; TableMissing.

        None where telling the version would cost another look. ``seen``: the version of the last
        commit, where the caller has just looked.
        """

    def files(self, table: str) -> list[DataFile]:
        """Return the files of a topic's table as they are now; TableMissing."""

    def merge(self, table: str, rows: pa.Table, merge: Merge) -> int:
        """MERGE rows; return how many rows of the table changed, came or went.

        Nothing is committed where that is 0. Without ``insert`` it may be 0 for rows that somebody
        has just written: whoever changes what was read reads again. TableMissing, Conflict.
        """

    def swap(self, table: str, rows: pa.Table, merge: Merge, version: int | None) -> bool:
        """Replace the only row of a table, if it is the expected one; tell whether it was.

        ``rows``: the new row, with what ``merge`` compares. ``version``: of which the expected row
        was read, None where that is not known. TableMissing, Conflict.
        """

    def append(
        self,
        table: str,
        rows: pa.Table,
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
        seen: int | None = None,
    ) -> Append:
        """Append rows in one commit, which carries a text.

        ``transaction``: (application, version). Where that version, or a later one, of the
        application has landed before, nothing is written. Conflict where another writer uses the
        same application at the same time. ``seen``: the version that the caller has just seen.
        """

    def transaction_version(self, table: str, application: str) -> int | None:
        """Return the last version of an application that has landed; None if there is none.

        None also where the lane cannot tell.
        """

    def delete(self, table: str, where: Where) -> int:
        """DELETE rows; return how many there were. No conditions: all rows."""

    def delete_row(self, table: str, where: Where, user_metadata: str) -> bool:
        """DELETE the row for which conditions hold; tell whether it was there. TableMissing.

        Conflict where a concurrent writer was faster. ``user_metadata``: a text that no other
        commit has, by which one is found whose answer was lost.
        """

    def clone(self, source: str, version: int, target: str, schema: TableSchema) -> None:
        """Make a table of what another one was at a version."""

    def drop(self, table: str) -> None:
        """Drop a table that nobody uses any more; nothing where there is none.

        By path, where Delta has no DROP: its rows go, and the files that held them.
        """

    def compact(self, table: str) -> int:
        """OPTIMIZE: write small files as few large ones; return how many were replaced."""

    def vacuum(self, table: str) -> None:
        """VACUUM: remove the files that no version needs which the table's properties keep."""

    def clean_log(self, table: str, keep: timedelta) -> int:
        """Write a checkpoint, forget the commits older than so long, and return how many.

        ``keep`` becomes the table's ``delta.logRetentionDuration``, if that is another one.
        """

    def locked(self, table: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk.

        Who holds it may read, decide and write without losing a race. Without ``wait`` it is a
        Conflict if somebody else holds it. Elsewhere there is no lock.
        """
