"""The direct lane: reads and writes tables in this process, by ``deltalake``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from typing import Literal

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from pubsub_delta.errors import PubSubError, Unavailable
from pubsub_delta.tables.lanes.direct.appends import append_once
from pubsub_delta.tables.lanes.direct.commits import (
    MESSAGES_WRITTEN,
    NO_CLEANUP,
    completed,
    properties_of_commit,
    properties_of_table,
    with_columns_of,
    write_over,
)
from pubsub_delta.tables.lanes.direct.conditions import in_sql
from pubsub_delta.tables.lanes.direct.errors import FAILURES, translating_errors
from pubsub_delta.tables.lanes.direct.files import WrittenFile, write_file
from pubsub_delta.tables.lanes.direct.history import read_history
from pubsub_delta.tables.lanes.direct.maintenance import (
    clean_log,
    compact,
    empty,
    join_small_files,
    tidy_control,
    vacuum,
)
from pubsub_delta.tables.lanes.direct.merging import merge_by_query, merged
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.lanes.direct.storage import address_of, is_local
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
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.schemas import CHECKPOINT_INTERVAL, TableSchema

RECENT = 20
"""Commits that are searched for one whose response was lost."""


class DirectLane:
    """Implements ``Lane`` by ``deltalake``.

    Args:
        storage_options: credentials and addresses (``credentials.storage_options``); None for
            tables on a local disk.
        locks: the locks of the store's tables, which both lanes and all processes share.
    """

    name: Literal["direct", "spark"] = "direct"

    def __init__(self, storage_options: Mapping[str, str] | None, locks: TableLocks) -> None:
        self.open_tables = OpenTables(storage_options)
        self._locks = locks

    def create(self, table: str, schema: TableSchema, rows: pa.Table | None = None) -> int | None:
        """Create a table unless it exists, with its first rows in the same commit: version 0."""
        address = address_of(table)
        properties = properties_of_table(schema)
        partitions = list(schema.partitioned_by)
        with self.locked(table), translating_errors(table):
            self.open_tables.forget(table)
            try:
                with translating_errors(table):
                    if rows is not None and rows.num_rows:
                        write_deltalake(
                            address,
                            completed(rows, schema.columns),
                            mode="error",
                            partition_by=partitions,
                            configuration=properties,
                            storage_options=self.open_tables.options,
                        )
                        return 0
                    DeltaTable.create(
                        address,
                        schema.columns,
                        mode="ignore",
                        partition_by=partitions,
                        configuration=properties,
                        storage_options=self.open_tables.options,
                        raise_if_key_not_exists=False,  # the layout version is not Delta's
                    )
            except (Conflict, Unavailable, *FAILURES):
                # another writer creates it, or the answer was lost
                if not self.exists(table):
                    raise
        return None

    def exists(self, table: str) -> bool:
        """Return whether a table exists."""
        try:
            self.version(table)
        except TableMissing:
            return False
        return True

    def table_id(self, table: str) -> str | None:
        """Return the id of a Delta table; None without one."""
        try:
            with translating_errors(table), self.open_tables.newest(table) as opened:
                return str(opened.metadata().id)
        except TableMissing:
            return None

    def properties(self, table: str) -> Mapping[str, str]:
        """Return a table's properties as of its open version; TableMissing."""
        with translating_errors(table), self.open_tables.cached(table) as opened:
            return dict(opened.metadata().configuration)

    def version(self, table: str) -> int:
        """Return the version of the last commit; TableMissing, DataLoss if it is damaged."""
        with translating_errors(table), self.open_tables.newest(table) as opened:
            return int(opened.version())

    def last_commit(self, table: str) -> tuple[int, str]:
        """Return the version of the last commit, and the table's id; TableMissing, DataLoss."""
        with translating_errors(table), self.open_tables.newest(table) as opened:
            return int(opened.version()), str(opened.metadata().id)

    def prefetching(self, *tables: str) -> AbstractContextManager[None]:
        """Start updating tables in object storage, all at the same time."""
        return self.open_tables.prefetching(tables)

    def history(
        self, table: str, limit: int | None = None, newest: int | None = None
    ) -> list[LoggedCommit]:
        """Return the last commits, newest first; DataLoss if one of them is damaged."""
        return read_history(self.open_tables, table, limit, newest)

    def read(
        self,
        table: str,
        where: Where = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """Return the present rows, or those of a version."""
        if version is None:
            return self.open_tables.read(table, lambda snapshot: snapshot.rows(where, columns))
        with translating_errors(table):
            return self.open_tables.snapshot_at(table, version).rows(where, columns)

    def read_latest(
        self, table: str, known_version: int | None = None
    ) -> tuple[pa.Table, int | None]:
        """Return all present rows, and their version."""
        return self.open_tables.read(table, lambda each: (each.rows(), each.version), known_version)

    def files(self, table: str) -> list[DataFile]:
        """Return the present files of a topic's table.

        Statistics are in milliseconds: the maximum of the publish times is rounded up.
        """
        return self.open_tables.read(table, lambda snapshot: snapshot.data_files())

    def merge(self, table: str, rows: pa.Table, merge: Merge) -> int:
        """MERGE rows; return how many were updated, inserted or deleted."""
        if not rows.num_rows:
            return 0
        with self.locked(table), translating_errors(table):
            # In object storage an update takes a request. A change of few rows that were read needs
            # none: if they have changed since, the commit is a Conflict.
            changed = None if is_local(table) else self._merge_into_few(table, rows, merge)
            if not changed:
                with self.open_tables.newest(table) as opened:
                    changed = self._merge_into_few(table, rows, merge)
                    if changed is None:
                        changed = merge_by_query(opened, rows, merge)
            if changed:
                with self.open_tables.cached(table) as opened:
                    version = opened.version()
                self._tidy_at_times(table, version, tidy_control)
        return changed

    def _merge_into_few(self, table: str, rows: pa.Table, merge: Merge) -> int | None:
        """MERGE a row as of the version a table is open at; None where it has many, or for many."""
        with self.open_tables.cached(table) as opened:
            known = self.open_tables.cached_rows(table, opened) if rows.num_rows == 1 else None
            if known is None:
                return None
            following, changed = merged(known, rows, merge)
            if changed:
                self._write_over(table, opened, following)
        return changed

    def swap(self, table: str, rows: pa.Table, merge: Merge, version: int | None) -> bool:
        """Replace the only row of a table, if it is the expected one; return whether it was.

        If the version of the expected row is known, the commit itself is the comparison: it lands
        only as the next version.
        """
        if version is None:
            return self.merge(table, rows, merge) == 1
        with self.locked(table):
            with translating_errors(table), self.open_tables.newest(table, version) as opened:
                if opened.version() != version:
                    return False
                self._write_over(table, opened, rows)
            self._tidy_at_times(table, version + 1, tidy_control)
        return True

    def _write_over(self, table: str, opened: DeltaTable, rows: pa.Table) -> None:
        written = write_over(opened, rows)
        self.open_tables.cache_rows(table, opened, written)

    def append(
        self,
        table: str,
        rows: pa.Table,
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
        known_version: int | None = None,
    ) -> Append:
        """Append rows in one commit, unless its transaction has landed before."""
        metadata = {"userMetadata": user_metadata}
        properties = properties_of_commit(metadata, transaction, only_next=not is_local(table))

        def write(opened: DeltaTable) -> None:
            write_deltalake(
                opened,
                with_columns_of(opened, rows),
                mode="append",
                writer_properties=MESSAGES_WRITTEN,
                commit_properties=properties,
            )

        version = self._add(table, write, user_metadata, transaction, known_version)
        return Append(landed=version is not None, version=version)

    def _add(
        self,
        table: str,
        write: Callable[[DeltaTable], None],
        user_metadata: str,
        transaction: tuple[str, int] | None,
        known_version: int | None = None,
    ) -> int | None:
        """Make a commit that only adds; return its version, None if its transaction has landed."""
        with self.locked(table), translating_errors(table):
            version = append_once(
                self.open_tables, table, write, user_metadata, transaction, known_version
            )
            if version is not None:
                self._tidy_at_times(table, version, join_small_files)
        return version

    def write_file(
        self, table: str, path: str, columns: pa.Schema, parts: Iterable[pa.Table]
    ) -> int:
        """Write rows to a new file of a table, for ``add_files``; return its bytes."""
        with translating_errors(table):
            return write_file(table, self.open_tables.options, path, columns, parts)

    def add_files(
        self,
        table: str,
        files: Sequence[WrittenFile],
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
    ) -> bool:
        """Add files of messages in one commit; false if its transaction has landed before."""
        metrics = {"num_added_rows": sum(file.rows for file in files)}
        metadata = {"userMetadata": user_metadata, "operationMetrics": metrics}
        properties = properties_of_commit(metadata, transaction, only_next=not is_local(table))

        def write(opened: DeltaTable) -> None:
            opened.create_write_transaction(
                [file.action() for file in files],
                mode="append",
                schema=opened.schema(),
                partition_by=list(opened.metadata().partition_columns),
                commit_properties=properties,
            )
            with suppress(*FAILURES):  # it has landed
                opened.update_incremental()

        return self._add(table, write, user_metadata, transaction) is not None

    def transaction_version(self, table: str, application: str) -> int | None:
        """Return the last version of an application that has landed; None if there is none."""
        with translating_errors(table), self.open_tables.newest(table) as opened:
            landed: int | None = opened.transaction_version(application)
        return landed

    def delete(
        self,
        table: str,
        where: Where,
        user_metadata: str | None = None,
        version: int | None = None,
    ) -> int:
        """DELETE rows, without conditions all, perhaps as of a version; return their number.

        The client of an object store repeats a put whose response was lost, and can then find its
        own commit. If the history has that commit, there is no Conflict.
        """
        carried = None if user_metadata is None else {"userMetadata": user_metadata}
        try:
            with self.locked(table), translating_errors(table), self._at(table, version) as opened:
                counts = opened.delete(
                    in_sql(where),
                    commit_properties=carried and properties_of_commit(carried, None),
                    post_commithook_properties=NO_CLEANUP,
                )
        except Conflict:
            commits = self.history(table, RECENT) if user_metadata else []
            landed = next((c for c in commits if c.user_metadata == user_metadata), None)
            if landed is None:
                raise
            counts = dict(landed.metrics)
        return int(counts["num_deleted_rows"] or 0)

    def _at(self, table: str, version: int | None) -> AbstractContextManager[DeltaTable]:
        if version is None:
            return self.open_tables.newest(table)
        return nullcontext(self.open_tables.opened(table, version))

    def drop(self, table: str) -> None:
        """Delete the rows of a table and their files, if the table exists."""
        repeat_on_conflict(lambda: self._drop(table), table)

    def _drop(self, table: str) -> None:
        with self.locked(table), translating_errors(table):
            self.open_tables.forget(table)
            try:
                opened = self.open_tables.opened(table)
            except Exception as error:
                with suppress(TableMissing), translating_errors(table):
                    raise error
                return
            empty(opened)

    def compact(self, table: str) -> int:
        """OPTIMIZE: write small files as few large ones; return how many were replaced."""
        with self.locked(table), translating_errors(table):
            return compact(self.open_tables.opened(table))

    def vacuum(self, table: str) -> None:
        """VACUUM: remove the files that no retained version needs."""
        with self.locked(table), translating_errors(table):
            vacuum(self.open_tables.opened(table))

    def clean_log(self, table: str, keep: timedelta) -> int:
        """Write a checkpoint, remove the commits older than ``keep``, and return their number.

        ``keep`` becomes the table's ``delta.logRetentionDuration``, if it differs.
        """
        with self.locked(table), translating_errors(table):
            before = clean_log(self.open_tables.opened(table), keep)
            return before - len(self.open_tables.opened(table).history())

    def locked(self, table: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk."""
        return self._locks.locked(table, wait=wait)

    def _tidy_at_times(self, table: str, version: int, work: Callable[[DeltaTable], None]) -> None:
        """Do maintenance after each hundredth commit; its failure does not fail the commit."""
        if version % CHECKPOINT_INTERVAL == 0:
            with suppress(PubSubError, *FAILURES):
                work(self.open_tables.opened(table))
