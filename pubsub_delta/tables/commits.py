"""The only writer: every change of a table goes through here.

Three things can become of a commit. It landed; it did not (``Conflict``: a concurrent writer was
faster, and the caller may decide again); or the answer was lost, and any other error leaves it
open: who must know then looks for the mark that the commit carries. Files that cannot be read or
written are told as ``damage`` tells them, which leaves it open, too.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from filelock import FileLock, Timeout
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructField, StructType
from tenacity import (
    RetryError,
    Retrying,
    nap,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from pubsub_delta.errors import Aborted, DataLoss
from pubsub_delta.session import few_rows
from pubsub_delta.tables import log_cleanup
from pubsub_delta.tables.damage import in_our_words, telling_damage
from pubsub_delta.tables.layout import Layout, layout_of, path_of
from pubsub_delta.tables.schemas import TableSchema

T = TypeVar("T")

ATTEMPTS = 25
"""How often a change is decided anew before it is given up as Aborted."""

OVERWRITES = "pubsub_delta"
"""The application whose transactions, in Delta's sense, the overwrites of a table are."""

_CONFLICTS = re.compile(
    r"DELTA_CONCURRENT_|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED"
    r"|Concurrent(?:Append|DeleteRead|DeleteDelete|Transaction|Write|Modification)Exception"
    r"|MetadataChangedException|ProtocolChangedException"
)
_MISSING = re.compile(
    r"(PATH|TABLE|TABLE_OR_VIEW|SCHEMA)_(NOT_FOUND|DOES_NOT_EXIST)"
    r"|DELTA_TABLE_ONLY_OPERATION|DELTA_MISSING_DELTA_TABLE"
)


class Conflict(Exception):
    """A concurrent writer was faster. Nothing was written."""


class _Held(threading.local):
    """The tables whose locks this thread holds."""

    def __init__(self) -> None:
        self.tables: set[str] = set()


class Commits:
    """Writes to the tables of one store: of few rows in ``small``, of whole tables in ``spark``."""

    def __init__(self, spark: SparkSession, small: SparkSession, layout: Layout) -> None:
        self._spark = spark
        self._small = small
        self._layout = layout
        self._held = _Held()

    def create_table(self, table: str, schema: TableSchema) -> None:
        """Create a table unless it exists."""
        if self._layout.in_catalog:
            self._run(f"CREATE SCHEMA IF NOT EXISTS {self._layout.schema}")
        columns = ", ".join(_column(column, schema) for column in schema.columns)
        partitioned = f"PARTITIONED BY ({', '.join(schema.partitioned_by)}) "
        with self.locked(table):
            self._run(
                f"CREATE TABLE IF NOT EXISTS {table} ({columns}) USING DELTA "
                f"{partitioned if schema.partitioned_by else ''}TBLPROPERTIES "
                f"({_properties(schema)})",
                table,
            )

    def create_table_of(self, table: str, schema: TableSchema, rows: pa.Table) -> None:
        """Create a table that nobody else can be creating, with its first rows, in one commit."""
        if self._layout.in_catalog:
            self._run(f"CREATE SCHEMA IF NOT EXISTS {self._layout.schema}")
        with self.locked(table):
            self._run(
                f"CREATE TABLE {table} USING DELTA TBLPROPERTIES ({_properties(schema)}) "
                f"AS SELECT {', '.join(schema.columns.names)} FROM {{first_rows}}",
                table,
                first_rows=few_rows(self._spark, self._small, rows),
            )

    def add_columns(self, table: str, columns: StructType) -> None:
        """Add columns to a table, in a commit of metadata alone; those that it has stay.

        Somebody else may add them at the same time: then it is theirs.
        """
        with self.locked(table):
            there = self._small.table(table).columns
            missing = [column for column in columns if column.name not in there]
            if not missing:
                return
            added = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in missing)
            try:
                self._run(f"ALTER TABLE {table} ADD COLUMNS ({added})", table)
            except AnalysisException:
                if not set(columns.names) <= set(self._small.table(table).columns):
                    raise

    def append(
        self,
        table: str,
        rows: DataFrame,
        *,
        user_metadata: Mapping[str, object],
        transaction: tuple[str, int] | None = None,
    ) -> None:
        """Append rows in one commit; a transaction that has landed before is skipped by Delta."""
        writer = rows.write.format("delta").mode("append")
        writer = writer.option("userMetadata", json.dumps(dict(user_metadata)))
        writer = writer.option("optimizeWrite", "false")  # it would shuffle the rows
        if transaction is not None:
            application, version = transaction
            writer = writer.option("txnAppId", application).option("txnVersion", version)
        with self.locked(table), _telling(None):  # the rows may come from files of the caller's
            path = path_of(table)
            if path is None:
                writer.saveAsTable(table)
            else:
                writer.save(path)

    def merge(self, table: str, rows: pa.Table, clauses: str) -> int:
        """MERGE INTO a table (as ``old``) the rows (as ``new``); return how many rows changed."""
        source = few_rows(self._spark, self._small, rows)
        with self.locked(table):
            counts = self._run(
                f"MERGE INTO {table} AS old USING {{new_rows}} AS new {clauses}",
                table,
                new_rows=source,
            )
        return int(counts["num_affected_rows"])

    def overwrite(self, table: str, rows: pa.Table, *, number: int, mark: str) -> None:
        """INSERT OVERWRITE: put rows in the place of all rows of a table, whose columns they have.

        ``number``: higher than that of the table's last overwrite. Where it is not, somebody else
        was faster, and Delta skips this one (``txnVersion``) without a word. ``mark``: a name that
        nobody else has, which the commit then carries as its ``userMetadata``.
        """
        source = few_rows(self._spark, self._small, rows)
        with self.locked(table):
            self._run(
                f"INSERT OVERWRITE {table} WITH ('txnAppId' = '{OVERWRITES}', "
                f"'txnVersion' = '{number:d}', 'userMetadata' = '{plain(mark)}', "
                "'optimizeWrite' = 'false') SELECT * FROM {new_rows}",
                table,
                new_rows=source,
            )

    def has_merged(self, table: str, mark: str) -> bool:
        """Tell whether a MERGE among a table's last commits had a text in its conditions."""
        with _telling(table):
            told = self._small.sql(f"DESCRIBE HISTORY {table} LIMIT 100")
            return any(mark in str(row[0]) for row in told.select("operationParameters").collect())

    def delete(self, table: str, uids: Sequence[str]) -> int:
        """DELETE the rows with some uids; return how many there were."""
        named = ", ".join(f"'{plain(uid)}'" for uid in uids)
        return self.delete_where(table, f"uid IN ({named})")

    def delete_where(self, table: str, wanted: str) -> int:
        """DELETE rows by a condition in SQL; return how many there were."""
        with self.locked(table):
            counts = self._run(f"DELETE FROM {table} WHERE {wanted}", table, spark=self._spark)
        return int(counts["num_affected_rows"])

    def update(self, table: str, change: str, wanted: str) -> int:
        """UPDATE rows by a change and a condition in SQL; return how many there were."""
        with self.locked(table):
            counts = self._run(f"UPDATE {table} AS old SET {change} WHERE {wanted}", table)
        return int(counts["num_affected_rows"])

    def version(self, table: str) -> int:
        """Return the version of a table's last commit; DataLoss if its file was emptied."""
        last = self._run(f"DESCRIBE HISTORY {table} LIMIT 1", table)
        if last["operation"] is None:
            raise DataLoss(
                f"{table}: commit {last['version']} of its log is damaged: restore it from a copy, "
                "or the table to an earlier version"
            )
        return int(last["version"])

    def optimize(self, table: str) -> int:
        """OPTIMIZE: write many small files as few large ones; return how many were replaced."""
        with self.locked(table):
            metrics = self._run(f"OPTIMIZE {table}", table, spark=self._spark)["metrics"]
        return int(metrics["numFilesRemoved"])

    def vacuum(self, table: str) -> None:
        """VACUUM: remove the files that no version younger than the table's retention needs."""
        with self.locked(table):  # it writes to the log that it began and ended
            self._run(f"VACUUM {table}", table, spark=self._spark)

    def alter(self, table: str, *changes: str) -> None:
        """ALTER TABLE, by some changes one after the other; each is a commit of its own."""
        with self.locked(table):
            for change in changes:
                self._run(f"ALTER TABLE {table} {change}", table, spark=self._spark)

    def clean_log(self, table: str, directory: Path, before: int) -> int:
        """Have a table on the driver's disk forget commits before a version; return how many."""
        with self.locked(table):
            return log_cleanup.clean(directory, before)

    def forget_sums(self, table: str, directory: Path) -> int:
        """Remove old checksums from the log of a table on the driver's disk; return how many."""
        with self.locked(table):
            return log_cleanup.forget_sums(directory)

    def _run(
        self,
        sql: str,
        table: str | None = None,
        /,
        *,
        spark: SparkSession | None = None,
        **frames: Any,
    ) -> Row:
        with _telling(table):
            rows = (self._small if spark is None else spark).sql(sql, **frames).collect()
        return rows[0] if rows else Row()

    @contextmanager
    def locked(self, table: str, *, wait: bool = True) -> Iterator[None]:
        """Keep other writers on this machine away from a table on a local disk.

        Delta's log store for local files checks that a version is free and then renames: two
        processes can both succeed. Every other store has an atomic put of its own, and no lock.
        Whoever holds the lock may also read, decide and write without losing a race. Without
        ``wait`` it is a Conflict if somebody else holds it.
        """
        if self._local_directory is None or table in self._held.tables:
            yield
            return
        locks = Path(self._local_directory) / "_locks"
        name = re.sub(r"[^\w\-]", "", "-".join(table.split("/")[-2:]))
        lock = FileLock(locks / f"{name[-200:]}.lock", is_singleton=False)
        try:
            with telling_damage(table):
                locks.mkdir(parents=True, exist_ok=True)
                lock.acquire(blocking=wait)
        except Timeout:
            raise Conflict(f"{table} is being written") from None
        self._held.tables.add(table)
        try:
            yield
        finally:
            self._held.tables.remove(table)
            lock.release()

    @cached_property
    def _local_directory(self) -> str | None:
        if not self._layout.in_catalog:
            return self._layout.local_directory()
        described = self._small.sql(f"DESCRIBE SCHEMA {self._layout.schema}").collect()
        location = next((row[1] for row in described if row[0] == "Location"), "")
        return layout_of(location).local_directory() if location else None


def is_missing(error: BaseException) -> bool:
    """Tell whether an error means that a table does not exist."""
    if not isinstance(error, AnalysisException):
        return False
    return bool(_MISSING.search(error.getCondition() or ""))


def repeat_on_conflict(
    attempt: Callable[[], T], what: str, sleep: Callable[[float], None] = nap.sleep
) -> T:
    """Call a function until no concurrent writer is faster; Aborted after too many tries."""
    retrying = Retrying(
        retry=retry_if_exception_type(Conflict),
        wait=wait_random_exponential(multiplier=0.05, max=2),
        stop=stop_after_attempt(ATTEMPTS),
        sleep=sleep,
    )
    try:
        return retrying(attempt)
    except RetryError:
        raise Aborted(
            f"{what}: concurrent writers were faster {ATTEMPTS} times; "
            "nothing was written, and trying again is safe"
        ) from None


class _Expected(threading.local):
    """Whether this thread is doing something whose failure is part of the work."""

    now = False


_expected = _Expected()
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    # PySpark prints every error as a page of JSON before anyone can handle it.
    PySparkLogger.getLogger(_name).addFilter(lambda _: not _expected.now)


@contextmanager
def expected_errors() -> Iterator[None]:
    """Keep PySpark from printing the errors of this thread: the caller handles them."""
    before, _expected.now = _expected.now, True
    try:
        yield
    finally:
        _expected.now = before


@contextmanager
def _telling(table: str | None) -> Iterator[None]:
    """Raise what Spark says as a Conflict, or as what is wrong with the files of a table."""
    try:
        with expected_errors():
            yield
    except Exception as error:
        if _CONFLICTS.search(_condition(error) or str(error)[:2000]):
            raise Conflict(str(error).splitlines()[0]) from error
        told = in_our_words(error, table)
        if told is None:
            raise
        raise told from error


def _condition(error: Exception) -> str | None:
    get = getattr(error, "getCondition", None)
    return get() if get is not None else None


def _properties(schema: TableSchema) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in schema.properties.items())


def _column(column: StructField, schema: TableSchema) -> str:
    text = f"{column.name} {column.dataType.simpleString()}"
    rule = schema.generated.get(column.name)
    return f"{text} GENERATED ALWAYS AS ({rule})" if rule else text


def plain(uid: str) -> str:
    """Return a uid that may stand in SQL; ValueError if it is none."""
    if not re.fullmatch(r"[0-9a-f]{32}", uid):
        raise ValueError(f"not a uid: {uid!r}")
    return uid
