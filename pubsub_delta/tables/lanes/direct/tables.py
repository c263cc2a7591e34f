"""The lane that reads and writes tables in this process, by ``deltalake``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from typing import Any, Literal, TypeVar

import pyarrow as pa
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Transaction,
    WriterProperties,
    write_deltalake,
)

from pubsub_delta.clock import from_micros
from pubsub_delta.tables.lanes.damage import lost_commit
from pubsub_delta.tables.lanes.direct.conditions import in_sql
from pubsub_delta.tables.lanes.direct.failures import FAILURES, telling
from pubsub_delta.tables.lanes.direct.files import WrittenFile, write_file
from pubsub_delta.tables.lanes.direct.handles import Handles
from pubsub_delta.tables.lanes.direct.snapshots import Snapshot
from pubsub_delta.tables.lanes.direct.storage import address_of
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import (
    Append,
    Conflict,
    DataFile,
    LoggedCommit,
    Merge,
    TableMissing,
    Where,
)
from pubsub_delta.tables.schemas import CHECKPOINT_INTERVAL, TableSchema

T = TypeVar("T")

_UNSAID = {
    # Of the protocol: a table of deltalake has the lowest one, unless a property asks for more.
    "delta.minReaderVersion",
    "delta.minWriterVersion",
    # Not read by deltalake, which has no defaults of a session either that would set them.
    "delta.enableInCommitTimestamps",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
}
_LOG_RETENTION = "delta.logRetentionDuration"
_LOOKS = 100
"""How often a history is read at most until nobody has committed meanwhile."""
_TIDY_SIZE = 4 * 1024 * 1024
"""Bytes up to which files of a topic are joined while it is published to; OPTIMIZE joins more."""

_COUNTED_UP = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
_MESSAGES = WriterProperties(
    # Measured with JSON of 70 bytes: 10 bytes a row by 18 (snappy) and 60 (none), at equal speed.
    compression="ZSTD",
    max_row_group_size=65_536,  # so that few messages of a large file are not read with all others
    column_properties={
        "position": _COUNTED_UP,
        "publish_time": _COUNTED_UP,
        "data": ColumnProperties(dictionary_enabled=False),
    },
)


class DirectLane:
    """Implements ``Lane`` by ``deltalake``.

    Args:
        storage_options: credentials and addresses (``storage.storage_options``); None where the
            tables are on a local disk.
        locks: keep both lanes, and other processes, from writing a table at the same time.
    """

    name: Literal["direct", "spark"] = "direct"

    def __init__(self, storage_options: Mapping[str, str] | None, locks: TableLocks) -> None:
        self._handles = Handles(storage_options)
        self._locks = locks

    def create(self, table: str, schema: TableSchema, rows: pa.Table | None = None) -> None:
        """Create a table unless it exists, with its first rows in the same commit."""
        address = address_of(table)
        properties = {key: value for key, value in schema.properties.items() if key not in _UNSAID}
        partitions = list(schema.partitioned_by)
        with self.locked(table), telling(table):
            self._handles.forget(table)
            if rows is not None and rows.num_rows:
                write_deltalake(
                    address,
                    _completed(rows, schema.columns),
                    mode="error",
                    partition_by=partitions or None,
                    configuration=properties,
                    storage_options=self._handles.options,
                )
                return
            try:
                with telling(table):
                    DeltaTable.create(
                        address,
                        schema.columns,
                        mode="ignore",
                        partition_by=partitions,
                        configuration=properties,
                        storage_options=self._handles.options,
                    )
            except Conflict:  # somebody else is creating it
                if not self.exists(table):
                    raise

    def exists(self, table: str) -> bool:
        """Tell whether a table is there."""
        try:
            self.version(table)
        except TableMissing:
            return False
        return True

    def table_id(self, table: str) -> str | None:
        """Return the id that Delta gave a table when it was created; None where there is none."""
        try:
            with telling(table), self._handles.newest(table) as opened:
                return str(opened.metadata().id)
        except TableMissing:
            return None

    def version(self, table: str) -> int:
        """Return the version of the last commit; TableMissing, DataLoss if it is damaged."""
        with telling(table), self._handles.newest(table) as opened:
            return int(opened.version())

    def history(self, table: str, limit: int | None = None) -> list[LoggedCommit]:
        """Return the last commits, newest first; DataLoss where one of them is damaged.

        ``deltalake`` reads the commits that others have made since the table was opened, too, and
        numbers them all as if the newest were the one that it was opened at: so it is looked
        afterwards whether that is the last one still.
        """
        for _ in range(_LOOKS):
            with telling(table), self._handles.last_seen(table) as opened:
                newest, commits = opened.version(), opened.history(limit)
            if self.version(table) == newest:
                break
        else:
            raise Conflict(f"{table}: commits land faster than its history can be read")
        oldest = newest - len(commits) + 1
        if oldest > 0 and (limit is None or len(commits) < limit) and self._told(table, oldest - 1):
            raise lost_commit(table, newest)  # one tells nothing, and the others seem to be later
        return [_logged(commit) for commit in commits]

    def read(
        self,
        table: str,
        where: Where = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """Return rows as they are now, or were at a version."""
        if version is None:
            return self.reading(table, lambda snapshot: snapshot.rows(where, columns))
        with telling(table):
            return self._handles.snapshot_at(table, version).rows(where, columns)

    def snapshot_at(self, table: str, version: int) -> Snapshot:
        """Return a table as of a version; FailedPrecondition where it is not kept any more."""
        return self._handles.snapshot_at(table, version)

    def reading(self, table: str, read: Callable[[Snapshot], T]) -> T:
        """Return what a function reads of a table as of its last commit; it may be called again."""
        return self._handles.reading(table, read)

    def files(self, table: str) -> list[DataFile]:
        """Return the files of a topic's table as they are now.

        Statistics are in milliseconds: the maximum of the publish times is rounded up.
        """
        return self.reading(table, lambda snapshot: snapshot.data_files())

    def merge(self, table: str, rows: pa.Table, merge: Merge) -> int:
        """MERGE rows; return how many rows of the table changed, came or went."""
        if not rows.num_rows:
            return 0
        with self.locked(table), telling(table):
            with self._handles.newest(table) as opened:
                merger = opened.merge(
                    rows, merge.on, source_alias="new", target_alias="old", streamed_exec=False
                )
                if merge.update:
                    merger = merger.when_matched_update({c: f"new.{c}" for c in merge.update})
                if merge.delete:
                    merger = merger.when_matched_delete()
                if merge.insert:
                    columns = pa.schema(opened.schema().to_arrow()).names
                    merger = merger.when_not_matched_insert({c: f"new.{c}" for c in columns})
                counts = merger.execute()
                version = opened.version()
            changed = sum(
                int(counts[f"num_target_rows_{what}"])
                for what in ("updated", "inserted", "deleted")
            )
            if changed and version % CHECKPOINT_INTERVAL == 0:
                self._tidy(table, _vacuum)
        return changed

    def append(
        self,
        table: str,
        rows: pa.Table,
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
        seen: int | None = None,
    ) -> Append:
        """Append rows in one commit, unless its transaction has landed before."""
        with self.locked(table), telling(table):
            with self._handles.newest(table, seen) as opened:
                if _has_landed(opened, transaction):
                    return Append(landed=False)
                write_deltalake(
                    opened,
                    rows,
                    mode="append",
                    writer_properties=_MESSAGES,
                    commit_properties=_carrying({"userMetadata": user_metadata}, transaction),
                )
                version = opened.version()
            if version % CHECKPOINT_INTERVAL == 0:
                self._tidy(table, _join_small_files)
        return Append(landed=True, version=version)

    def write_file(
        self, table: str, path: str, columns: pa.Schema, parts: Iterable[pa.Table]
    ) -> int:
        """Write rows to a new file of a table, which ``add_files`` may add; return its bytes."""
        with telling(table):
            return write_file(table, self._handles.options, path, columns, parts)

    def add_files(
        self,
        table: str,
        files: Sequence[WrittenFile],
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
    ) -> bool:
        """Add files of messages in one commit; false where its transaction has landed before."""
        metrics = {"num_added_rows": sum(file.rows for file in files)}
        told = {"userMetadata": user_metadata, "operationMetrics": metrics}
        with self.locked(table), telling(table), self._handles.newest(table) as opened:
            if _has_landed(opened, transaction):
                return False
            opened.create_write_transaction(
                [file.action() for file in files],
                mode="append",
                schema=opened.schema(),
                partition_by=list(opened.metadata().partition_columns),
                commit_properties=_carrying(told, transaction),
            )
            with suppress(*FAILURES):  # it has landed
                opened.update_incremental()
            version = opened.version()
        if version % CHECKPOINT_INTERVAL == 0:
            self._tidy(table, _join_small_files)
        return True

    def transaction_version(self, table: str, application: str) -> int | None:
        """Return the last version of an application that has landed; None if there is none."""
        with telling(table), self._handles.newest(table) as opened:
            landed: int | None = opened.transaction_version(application)
        return landed

    def delete(self, table: str, where: Where) -> int:
        """DELETE rows; return how many there were. No conditions: all rows."""
        with self.locked(table), telling(table):
            counts = self._handles.opened(table).delete(in_sql(where))
        return int(counts["num_deleted_rows"] or 0)

    def clone(self, source: str, version: int, target: str, schema: TableSchema) -> None:
        """Make a table of what another one was at a version."""
        self.create(target, schema, self.read(source, version=version))

    def drop(self, table: str) -> None:
        """Delete the rows of a table, and the files that held them; nothing where it is gone."""
        with self.locked(table), telling(table):
            try:
                opened = self._handles.opened(table)
            except Exception as error:
                with suppress(TableMissing), telling(table):
                    raise error
                return
            if opened.get_add_actions().num_rows:
                opened.delete()
            elif opened.history(1)[0]["operation"] == "VACUUM END":
                return  # it was dropped before
            opened.vacuum(
                retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True
            )

    def compact(self, table: str) -> int:
        """OPTIMIZE: write small files as few large ones; return how many were replaced."""
        with self.locked(table), telling(table):
            opened = self._handles.opened(table)
            return int(opened.optimize.compact(writer_properties=_MESSAGES)["numFilesRemoved"])

    def vacuum(self, table: str) -> None:
        """VACUUM: remove the files that no version needs which the table's properties keep."""
        with self.locked(table), telling(table):
            _vacuum(self._handles.opened(table))

    def clean_log(self, table: str, keep: timedelta) -> int:
        """Write a checkpoint, forget the commits older than so long, and return how many.

        ``keep`` becomes the table's ``delta.logRetentionDuration``, if that is another one.
        """
        with self.locked(table), telling(table):
            opened = self._handles.opened(table)
            kept = _interval(keep)
            if opened.metadata().configuration.get(_LOG_RETENTION) != kept:
                opened.alter.set_table_properties({_LOG_RETENTION: kept})
            opened.create_checkpoint()
            before = len(opened.history())
            opened.cleanup_metadata()
            return before - len(self._handles.opened(table).history())

    def locked(self, table: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk."""
        return self._locks.locked(table, wait=wait)

    def _tidy(self, table: str, work: Callable[[DeltaTable], None]) -> None:
        """Do what every hundredth writer does: the commit has landed, whatever becomes of it."""
        with suppress(*FAILURES):
            work(self._handles.opened(table))

    def _told(self, table: str, version: int) -> bool:
        """Tell whether the log still has a commit."""
        try:
            past = DeltaTable(
                address_of(table), version=version, storage_options=self._handles.options
            )
            return bool(past.history(1))
        except FAILURES:
            return False


def _has_landed(opened: DeltaTable, transaction: tuple[str, int] | None) -> bool:
    landed = None if transaction is None else opened.transaction_version(transaction[0])
    return landed is not None and transaction is not None and landed >= transaction[1]


def _carrying(told: dict[str, Any], transaction: tuple[str, int] | None) -> CommitProperties:
    transactions = None if transaction is None else [Transaction(*transaction)]
    return CommitProperties(custom_metadata=told, app_transactions=transactions)


def _vacuum(opened: DeltaTable) -> None:
    # In full: what a checkpoint has forgotten meanwhile would otherwise never go.
    opened.vacuum(dry_run=False, enforce_retention_duration=False, full=True)


def _join_small_files(opened: DeltaTable) -> None:
    opened.optimize.compact(target_size=_TIDY_SIZE, writer_properties=_MESSAGES)


def _completed(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """Give rows all the columns of a table; what they lack is null."""
    return pa.Table.from_arrays(
        [
            rows[each.name].cast(each.type)
            if each.name in rows.column_names
            else pa.nulls(rows.num_rows, each.type)
            for each in columns
        ],
        schema=columns,
    )


def _interval(time: timedelta) -> str:
    """Write a duration as a table's properties have it.

    >>> _interval(timedelta(days=8)), _interval(timedelta(hours=1.5))
    ('interval 8 days', 'interval 5400 seconds')
    """
    seconds = int(time.total_seconds())
    days, rest = divmod(seconds, 86_400)
    return f"interval {days} days" if days and not rest else f"interval {seconds} seconds"


def _logged(commit: Mapping[str, Any]) -> LoggedCommit:
    return LoggedCommit(
        version=int(commit["version"]),
        time=from_micros(0) + timedelta(milliseconds=int(commit["timestamp"])),
        operation=str(commit["operation"]),
        metrics=commit.get("operationMetrics") or {},
        user_metadata=commit.get("userMetadata"),
    )
