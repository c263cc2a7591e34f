"""A lane on tables in memory: every version of every table, and no files.

It commits one at a time, so nobody is faster than anybody else; conflicts are for the tests of the
real lanes. Of SQL it knows the conditions that this library writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

import pyarrow as pa

from pubsub_delta.clock import UTC
from pubsub_delta.tables.lanes.protocol import (
    Append,
    Conflict,
    DataFile,
    LoggedCommit,
    Match,
    Merge,
    TableMissing,
    Where,
)
from pubsub_delta.tables.schemas import TableSchema

Row = Mapping[str, Any]

_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a is not None and a == b,
    "<": lambda a, b: a is not None and a < b,
    "<=": lambda a, b: a is not None and a <= b,
    ">": lambda a, b: a is not None and a > b,
    ">=": lambda a, b: a is not None and a >= b,
    "in": lambda a, b: a in b,
}
_TIME = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class MemoryTable:
    """Each version of a table, and what its commit carries."""

    schema: TableSchema
    versions: list[pa.Table] = field(default_factory=list)
    commits: list[LoggedCommit] = field(default_factory=list)
    transactions: dict[str, int] = field(default_factory=dict)
    _read: tuple[pa.Table, list[Row]] | None = None

    def commit(self, operation: str, rows: pa.Table, user_metadata: str | None = None) -> None:
        self.commits.append(LoggedCommit(len(self.versions), _TIME, operation, {}, user_metadata))
        self.versions.append(rows)

    def put(self, operation: str, rows: Sequence[Row], user_metadata: str | None = None) -> None:
        made = pa.Table.from_pylist([*map(dict, rows)], schema=self.schema.columns)
        self.commit(operation, made, user_metadata)

    @property
    def rows(self) -> list[Row]:
        """The rows of the last version, which nobody may change."""
        last = self.versions[-1]
        if self._read is None or self._read[0] is not last:
            self._read = (last, last.to_pylist())
        return self._read[1]


class MemoryLane:
    """The tables of a store, for every process that opens it."""

    name: Literal["direct", "spark"] = "direct"

    def __init__(self) -> None:
        self.tables: dict[str, MemoryTable] = {}
        self._lock = threading.RLock()

    def copy(self) -> dict[str, MemoryTable]:
        """Return the tables as they are, to put them back later (``tables``)."""
        return {
            name: MemoryTable(each.schema, [*each.versions], [*each.commits], {**each.transactions})
            for name, each in self.tables.items()
        }

    def _table(self, table: str) -> MemoryTable:
        if table not in self.tables:
            raise TableMissing(table)
        return self.tables[table]

    def create(self, table: str, schema: TableSchema, rows: pa.Table | None = None) -> None:
        with self._lock:
            if table in self.tables:
                assert rows is None, f"{table} is there already"
                return
            made = MemoryTable(schema)
            made.commit("CREATE TABLE", schema.columns.empty_table() if rows is None else rows)
            self.tables[table] = made

    def exists(self, table: str) -> bool:
        return table in self.tables

    def table_id(self, table: str) -> str | None:
        return table if self.exists(table) else None

    def properties(self, table: str) -> Mapping[str, str]:
        return self._table(table).schema.properties

    def version(self, table: str) -> int:
        return self.last_commit(table)[0]

    def last_commit(self, table: str) -> tuple[int, str]:
        return len(self._table(table).versions) - 1, table

    def prefetching(self, *tables: str) -> AbstractContextManager[None]:
        return nullcontext()

    def history(
        self, table: str, limit: int | None = None, newest: int | None = None
    ) -> list[LoggedCommit]:
        return list(reversed(self._table(table).commits))[:limit]

    def read(
        self,
        table: str,
        where: Where = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        found = self._table(table).versions[-1 if version is None else version]
        if where:
            wanted = [_matches(row, where) for row in found.to_pylist()]
            found = found.filter(pa.array(wanted, pa.bool_()))
        return found if columns is None else found.select(columns)

    def read_latest(
        self, table: str, known_version: int | None = None
    ) -> tuple[pa.Table, int | None]:
        with self._lock:
            return self.read(table), self.version(table)

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table as they are now, which nobody may change."""
        return self._table(table).rows

    def files(self, table: str) -> list[DataFile]:
        """Return a file for each day of publishing, as they are after an OPTIMIZE."""
        days: dict[date, list[Row]] = {}
        for row in self.rows(table):
            days.setdefault(row["publish_date"], []).append(row)
        return [_file_of(day, rows) for day, rows in days.items()]

    def swap(self, table: str, rows: pa.Table, merge: Merge, version: int | None) -> bool:
        with self._lock:
            if version is not None and version != self.version(table):
                raise Conflict(f"{table} has moved on")
            return self.merge(table, rows, merge) == 1

    def merge(self, table: str, rows: pa.Table, merge: Merge) -> int:
        with self._lock:
            stored = self._table(table)
            there, changed = stored.rows, 0
            for new in rows.to_pylist():
                kept: list[Row] = []
                matched = 0
                for old in there:
                    if not _is_match(merge.on, old, new):
                        kept.append(old)
                        continue
                    matched += 1
                    if merge.update:
                        kept.append({**old, **{name: new[name] for name in merge.update}})
                    elif not merge.delete:
                        kept.append(old)
                if merge.insert and not matched:
                    kept.append({name: new[name] for name in stored.schema.columns.names})
                    changed += 1
                if merge.update or merge.delete:
                    changed += matched
                there = kept
            if changed:
                stored.put("MERGE", there)
            return changed

    def append(
        self,
        table: str,
        rows: pa.Table,
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
        known_version: int | None = None,
    ) -> Append:
        with self._lock:
            stored = self._table(table)
            if transaction is not None:
                application, number = transaction
                if stored.transactions.get(application, -1) >= number:
                    return Append(landed=False)
                stored.transactions[application] = number
            stored.commit("WRITE", pa.concat_tables([stored.versions[-1], rows]), user_metadata)
            return Append(landed=True, version=len(stored.versions) - 1)

    def transaction_version(self, table: str, application: str) -> int | None:
        with self._lock:
            return self._table(table).transactions.get(application)

    def delete(
        self,
        table: str,
        where: Where,
        user_metadata: str | None = None,
        version: int | None = None,
    ) -> int:
        with self._lock:
            stored = self._table(table)
            if version is not None:
                seen = stored.versions[version].to_pylist()
                if any(row not in seen and _matches(row, where) for row in stored.rows):
                    raise Conflict(f"{table}: somebody added such rows meanwhile")
            kept = [row for row in stored.rows if not _matches(row, where)]
            gone = len(stored.rows) - len(kept)
            if gone:
                stored.put("DELETE", kept, user_metadata)
            return gone

    def drop(self, table: str) -> None:
        """Leave a table of no rows, as at a path."""
        if table in self.tables:
            self.delete(table, ())

    def compact(self, table: str) -> int:
        self._table(table)
        return 0

    def vacuum(self, table: str) -> None:
        self._table(table)

    def clean_log(self, table: str, keep: timedelta) -> int:
        """Forget all commits but the last: by the clock of this machine they are old."""
        before = len(self.history(table))
        self.cut_log(table)
        return before - len(self.history(table))

    def cut_log(self, table: str) -> None:
        """Have the history tell nothing but the last commit."""
        stored = self._table(table)
        stored.commits = stored.commits[-1:]

    def restore(self, table: str, version: int) -> None:
        """Have a table be again what it was at a version, by one more commit."""
        stored = self._table(table)
        stored.commit("RESTORE", stored.versions[version])

    def locked(self, table: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return nullcontext()


def _file_of(day: date, rows: Sequence[Row]) -> DataFile:
    positions = [row["position"] for row in rows]
    times = [row["publish_time"] for row in rows]
    size = sum(100 + len(row["data"]) for row in rows)
    return DataFile(len(rows), size, day, min(positions), max(positions), min(times), max(times))


def _matches(row: Row, where: Where) -> bool:
    return all(_HOLDS[how](row[name], value) for name, how, value in where)


def _is_match(on: Sequence[Match], old: Row, new: Row) -> bool:
    return all(
        old[name] is None if other is None else _HOLDS[how](old[name], new[other])
        for name, how, other in on
    )
