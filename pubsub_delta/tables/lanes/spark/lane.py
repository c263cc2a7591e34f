"""The Spark lane: reads and writes all tables by SQL and DataFrames, on the caller's session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.clock import from_micros
from pubsub_delta.errors import DataLoss, FailedPrecondition
from pubsub_delta.session import check_reading, check_writing
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import (
    Append,
    DataFile,
    Lane,
    LoggedCommit,
    Merge,
    TableMissing,
    Where,
    is_overwrite,
)
from pubsub_delta.tables.lanes.spark import sql
from pubsub_delta.tables.lanes.spark.errors import collected, translating_errors
from pubsub_delta.tables.lanes.spark.grouping import grouped
from pubsub_delta.tables.lanes.spark.stored import stored
from pubsub_delta.tables.lanes.spark.types import arrow_frame, quoted
from pubsub_delta.tables.lanes.storage_errors import lost_commit
from pubsub_delta.tables.layout import on_disk, path_of
from pubsub_delta.tables.schemas import TableSchema

_LAST_COMMITS = 20
"""The newest commits, which are searched first for an append that has just landed."""

_WRITE_OPTIONS = {
    "optimizeWrite": "false",  # an optimized write shuffles the rows
    "parquet.writer.version": "v2",  # v2 pages compress the rising positions
}


class SparkLane:
    """Reads and writes tables by Spark (``lanes.protocol``).

    It supports catalogs, Spark Connect, and every storage of the session. It never changes the
    session's configuration.

    Args:
        spark: the session.
        locks: the locks of the store's tables.
        log: a lane that reads the log of the same tables without Spark, which takes two jobs for
            each read; None if there is none.
    """

    name: Literal["direct", "spark"] = "spark"

    def __init__(self, spark: SparkSession, locks: TableLocks, log: Lane | None = None) -> None:
        self.spark = spark
        self._locks = locks
        self._log = self if log is None else log

    def create(self, table: str, schema: TableSchema, rows: pa.Table | None = None) -> None:
        """Create a table unless it exists, with its first rows in the same commit.

        The catalog schema is created only if it does not exist, because that needs another
        permission.
        """
        try:
            self._create(table, schema, rows)
        except TableMissing:
            if path_of(table) is not None:
                raise
            self._run(f"CREATE SCHEMA IF NOT EXISTS {table.rpartition('.')[0]}", table)
            self._create(table, schema, rows)

    def _create(self, table: str, schema: TableSchema, rows: pa.Table | None) -> None:
        how = f"USING DELTA {sql.partitioned(schema)} {sql.properties(schema)}"
        with self.locked(table):
            if rows is None:
                self._run(
                    f"CREATE TABLE IF NOT EXISTS {table} ({sql.columns(schema)}) {how}", table
                )
            else:
                first = arrow_frame(self.spark, rows, schema.columns)
                self._run(
                    f"CREATE TABLE {table} {how} AS SELECT * FROM {{rows}}", table, rows=first
                )

    def exists(self, table: str) -> bool:
        """Return whether a table exists."""
        try:
            self._run(f"DESCRIBE HISTORY {table} LIMIT 1", table)
        except TableMissing:
            return False
        return True

    def table_id(self, table: str) -> str | None:
        """Return the id of a Delta table; None if there is no table."""
        try:
            return str(self._run(f"DESCRIBE DETAIL {table}", table)["id"])
        except TableMissing:
            return None

    def is_on_disk(self, table: str) -> bool:
        """Return whether a table is on a file system without a host, as a local disk; TableMissing.

        Databricks names its disks ``dbfs:/…``.
        """
        location = str(self._run(f"DESCRIBE DETAIL {table}", table)["location"])
        return "://" not in location or on_disk(location) is not None

    def properties(self, table: str) -> Mapping[str, str]:
        """Return a table's properties as they are now; TableMissing."""
        with translating_errors(table):
            rows = self.spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
        return {row["key"]: row["value"] for row in rows}

    def version(self, table: str) -> int:
        """Return the version of the last commit; DataLoss if its file was emptied; TableMissing."""
        return self.last_commit(table)[0]

    def last_commit(self, table: str) -> tuple[int, datetime]:
        """Return the version and the time of the last commit; DataLoss, TableMissing."""
        last = self._run(f"DESCRIBE HISTORY {table} LIMIT 1", table)
        if last["operation"] is None:
            raise lost_commit(table, last["version"])
        return int(last["version"]), last["timestamp"]

    def prefetching(self, *tables: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing: reading a log takes Spark jobs, which would wait for each other."""
        return nullcontext()

    def history(
        self,
        table: str,
        limit: int | None = None,
        newest: int | None = None,  # noqa: ARG002
    ) -> list[LoggedCommit]:
        """Return the last commits, newest first; with ``limit=None`` all in the log.

        DataLoss if the file of one was emptied; TableMissing.
        """
        bound = "" if limit is None else f" LIMIT {limit:d}"
        with translating_errors(table):
            history = self.spark.sql(f"DESCRIBE HISTORY {table}{bound}").select(
                "version",
                F.unix_micros("timestamp").alias("micros"),
                "operation",
                "operationParameters",
                "operationMetrics",
                "userMetadata",
            )
            rows = history.collect()
        for row in rows:
            if row["operation"] is None:  # Spark takes an emptied commit for one without changes
                raise lost_commit(table, row["version"])
        return [_logged(row) for row in rows]

    def read(
        self,
        table: str,
        where: Where = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """Return the current rows, or those of a version, whatever is cached; TableMissing.

        FailedPrecondition for a setting of the session by which rows are left out.
        """
        with translating_errors(table):
            if version is None:
                rows = stored(self.spark, table)
            else:
                check_reading(self.spark)
                rows = self.spark.sql(f"SELECT * FROM {table} VERSION AS OF {version:d}")
            wanted = rows.where(sql.condition(where))
            rows = wanted if columns is None else wanted.select(*map(quoted, columns))
        try:
            return collected(rows, table)
        except DataLoss as error:
            if self.exists(table):
                raise
            raise TableMissing(table) from error  # DROP TABLE removes the files under a reader

    def read_latest(
        self,
        table: str,
        known_version: int | None = None,  # noqa: ARG002
    ) -> tuple[pa.Table, int | None]:
        """Return all current rows, without their version, which takes another query."""
        return self.read(table), None

    def files(self, table: str) -> list[DataFile]:
        """Return the current files of a topic's table; TableMissing.

        Spark has no public API for a file's statistics, so two columns of all messages are read.
        """
        with translating_errors(table):
            file = {"path": F.col("_metadata.file_path"), "size": F.col("_metadata.file_size")}
            files = grouped(
                stored(self.spark, table),
                file,
                F.count("*").alias("rows"),
                F.min("publish_date").alias("publish_date"),
                F.min("position").alias("position_min"),
                F.max("position").alias("position_max"),
                F.min("publish_time").alias("publish_time_min"),
                F.max("publish_time").alias("publish_time_max"),
            ).drop("path")
        return [DataFile(**row) for row in collected(files, table).to_pylist()]

    def merge(self, table: str, rows: pa.Table, merge: Merge) -> int:
        """MERGE rows; return how many rows were updated, inserted and deleted.

        If that is 0 there is no commit. TableMissing, Conflict.
        """
        clauses = []
        if merge.update:
            changes = ", ".join(f"old.{each} = new.{each}" for each in map(quoted, merge.update))
            clauses.append(f"WHEN MATCHED THEN UPDATE SET {changes}")
        if merge.delete:
            clauses.append("WHEN MATCHED THEN DELETE")
        if merge.insert:
            names = [quoted(each) for each in rows.column_names]
            values = ", ".join(f"new.{each}" for each in names)
            clauses.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})")
        source = arrow_frame(self.spark, rows, rows.schema)
        with self.locked(table):
            counts = self._run(
                f"MERGE INTO {table} AS old USING {{rows}} AS new ON {merge.on_in_sql()} "
                f"{' '.join(clauses)}",
                table,
                rows=source,
            )
        return int(counts["num_affected_rows"])

    def swap(self, table: str, rows: pa.Table, merge: Merge, version: int | None) -> bool:  # noqa: ARG002
        """Replace the only row of a table by a MERGE, if it is the expected one."""
        return self.merge(table, rows, merge) == 1

    def append(
        self,
        table: str,
        rows: pa.Table,
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
        known_version: int | None = None,  # noqa: ARG002  (Spark reads it itself)
    ) -> Append:
        """Append rows in order, in one commit with a text as its user metadata.

        Delta skips an append whose transaction has landed before, without an error; then no commit
        has the text. TableMissing, Conflict.
        """
        frame = arrow_frame(self.spark, rows, rows.schema).coalesce(1)
        return Append(self._append(table, frame, user_metadata, transaction, of_others=False))

    def append_frame(
        self,
        table: str,
        frame: DataFrame,
        user_metadata: str,
        transaction: tuple[str, int] | None = None,
    ) -> bool:
        """Append a DataFrame of all columns of a table as ``append`` does.

        Without rows and a transaction there is no commit. Errors about sources of the DataFrame
        are raised unchanged. Spark writes by the settings of the DataFrame's session.
        """
        check_writing(frame.sparkSession)
        if not self._log.exists(table):  # else what is missing might be a source of the DataFrame
            raise TableMissing(table)
        return self._append(table, frame, user_metadata, transaction, of_others=True)

    def _append(
        self,
        table: str,
        frame: DataFrame,
        user_metadata: str,
        transaction: tuple[str, int] | None,
        *,
        of_others: bool,
    ) -> bool:
        writer = frame.writeTo(table).options(**_WRITE_OPTIONS)
        writer = writer.option("userMetadata", user_metadata)
        if transaction is not None:
            application, version = transaction
            writer = writer.option("txnAppId", application).option("txnVersion", str(version))
        with self.locked(table):
            before = -1 if transaction is None else self._log.version(table)
            with translating_errors(table, of_others=of_others):
                writer.append()
            return transaction is None or self._carries(table, before, user_metadata)

    def _carries(self, table: str, before: int, user_metadata: str) -> bool:
        """Return whether a commit after a version has a text as its user metadata."""
        for limit in (_LAST_COMMITS, None):
            commits = self._log.history(table, limit)
            if any(
                each.user_metadata == user_metadata for each in commits if each.version > before
            ):
                return True
            if commits[-1].version <= before:
                break
        return False

    def transaction_version(self, table: str, application: str) -> int | None:  # noqa: ARG002
        """Return None: SQL and DataFrames cannot read the transactions of a table."""
        return None

    def delete(
        self,
        table: str,
        where: Where,
        user_metadata: str | None = None,  # noqa: ARG002
        version: int | None = None,  # noqa: ARG002
    ) -> int:
        """DELETE rows of the last version, without conditions all; return their number."""
        with self.locked(table):
            counts = self._run(f"DELETE FROM {table} WHERE {sql.condition(where)}", table)
        return int(counts["num_affected_rows"])

    def drop(self, table: str) -> None:
        """Drop an unneeded table, if it exists.

        Of a table at a path, all rows are deleted. Their files stay until a later VACUUM.
        """
        if path_of(table) is None:
            with self.locked(table):
                self._run(f"DROP TABLE IF EXISTS {table}", table)
        elif self.exists(table):
            self.delete(table, ())

    def compact(self, table: str) -> int:
        """OPTIMIZE a table; return how many small files were replaced."""
        with self.locked(table):
            metrics = self._run(f"OPTIMIZE {table}", table)["metrics"]
        return int(metrics["numFilesRemoved"])

    def vacuum(self, table: str) -> None:
        """VACUUM a table, with the retention of its properties."""
        with self.locked(table):  # it commits its start and its end
            self._run(f"VACUUM {table}", table)

    def clean_log(self, table: str, keep: timedelta) -> int:
        """Raise FailedPrecondition: no Spark statement removes commits or writes a checkpoint."""
        raise FailedPrecondition(
            f"{table}: the Spark lane cannot remove the commits that are older than {keep}; run "
            "this where deltalake opens the storage. Delta does it by the table's property "
            "delta.enableExpiredLogCleanup, but then a subscription that nobody has pulled for "
            "delta.logRetentionDuration gets again what it has acknowledged"
        )

    def locked(self, table: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk.

        FailedPrecondition for a setting of the session by which a write is another one, or none.
        """
        check_writing(self.spark)
        return self._locks.locked(table, wait=wait)

    def _run(self, statement: str, table: str, /, **frames: Any) -> Row:
        with translating_errors(table):
            rows = self.spark.sql(statement, **frames).collect()
        return rows[0] if rows else Row()


def _logged(row: Row) -> LoggedCommit:
    metrics: Mapping[str, Any] = row["operationMetrics"] or {}
    time: datetime = from_micros(row["micros"])
    overwrites = is_overwrite(row["operationParameters"])
    return LoggedCommit(
        row["version"], time, row["operation"], metrics, row["userMetadata"], overwrites
    )
