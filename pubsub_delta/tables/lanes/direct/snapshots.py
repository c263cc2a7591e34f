"""A table as it is at a version: its files, and what stands in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.lanes.direct.conditions import may_hold, passing
from pubsub_delta.tables.lanes.direct.storage import address_of
from pubsub_delta.tables.lanes.protocol import DataFile, Where
from pubsub_delta.tables.layout import on_disk

_AT_ONCE = 16
"""Files that are read at the same time from object storage."""
_WHOLE = 8 * 1024 * 1024
"""Bytes of a file up to which one request for all of it beats several for parts of it."""
_KEPT = 1024 * 1024
"""Bytes of the files up to which all rows of a table are kept in memory."""

_FEW = 1000
"""Rows up to which a table is written anew with each change of one: some 100 kB of a registry."""

_SHORT_OF = timedelta(microseconds=999)
"""By how much a maximum in the log's statistics, which are in milliseconds, may be too low."""

Meets = Callable[[int, int], bool]
"""Whether rows from a position to another one are wanted."""


@dataclass(frozen=True)
class StoredFile:
    """A Parquet file of a table, and what the log tells of it: None what it does not."""

    path: str
    size: int
    rows: int | None
    partition: Mapping[str, Any]
    least: Mapping[str, Any]
    most: Mapping[str, Any]
    nulls: Mapping[str, int | None] = field(default_factory=dict)

    def is_run(self) -> bool:
        """Tell whether its rows are all the positions from its first one to its last one."""
        first, last = self.least.get("position"), self.most.get("position")
        complete = self.rows is not None and self.nulls.get("position") == 0
        return complete and first is not None and self.rows == last - first + 1


class Snapshot:
    """The files of a table at a version. It does not change; vacuum may remove its files."""

    def __init__(
        self,
        table: str,
        opened: DeltaTable,
        options: Mapping[str, str] | None,
        rows: pa.Table | None = None,
    ) -> None:
        protocol = opened.protocol()
        if protocol.min_reader_version > 1:
            raise FailedPrecondition(
                f"{table}: it has features ({', '.join(protocol.reader_features or [])}) for which "
                "it takes Spark to read it: a table that pubsub_delta has made has none"
            )
        self.id = opened.metadata().id
        self.version = opened.version()
        self.columns = pa.schema(opened.schema().to_arrow())
        self._partitioned_by = tuple(opened.metadata().partition_columns)
        self._actions = pa.table(opened.get_add_actions(flatten=True))
        self._address = address_of(table)
        self._options = dict(options) if options else None
        if rows is not None:  # what was just written need not be read
            self._all_rows = rows.cast(self.columns)

    def files(self, where: Where = ()) -> list[StoredFile]:
        """Return the files that may have rows for which some conditions hold."""
        return [_stored_file(each) for each in may_hold(self._actions, where).to_pylist()]

    def data_files(self) -> list[DataFile]:
        """Return the files of a topic; a maximum of times is where it is at most."""
        return [_data_file(each) for each in self.files()]

    @property
    def has_few_rows(self) -> bool:
        """Whether there are so few rows that writing all of them beats finding one."""
        counts = self._actions["num_records"].to_pylist()
        return len(counts) <= _AT_ONCE and None not in counts and sum(counts) <= _FEW

    def rows(self, where: Where = (), columns: Sequence[str] | None = None) -> pa.Table:
        """Return some columns of the rows for which all conditions hold."""
        names = self.columns.names if columns is None else list(columns)
        if sum(self._actions["size_bytes"].to_pylist()[:_AT_ONCE]) <= _KEPT and (
            self._actions.num_rows <= _AT_ONCE
        ):
            return passing(self._all_rows, where).select(names)
        needed = list(dict.fromkeys([*names, *(name for name, _, _ in where)]))
        parts = self.read(self.files(where), needed)
        return passing(pa.concat_tables(parts), where).select(names)

    @cached_property
    def _all_rows(self) -> pa.Table:
        return pa.concat_tables(self.read(self.files(), self.columns.names))

    def read(
        self, files: Sequence[StoredFile], columns: Sequence[str], meets: Meets | None = None
    ) -> list[pa.Table]:
        """Return some columns of files, as the table declares them; at least one table, if empty.

        ``meets``: leaves out groups of rows whose positions, as the file tells, are not wanted.
        """
        schema = pa.schema([self.columns.field(name) for name in columns])

        def table_of(file: StoredFile) -> pa.Table:
            return self._read_file(file, schema, meets)

        if self._folder is not None or len(files) < 2:
            return [table_of(file) for file in files] or [schema.empty_table()]
        with ThreadPoolExecutor(min(_AT_ONCE, len(files))) as readers:
            return list(readers.map(table_of, files))

    def groups(self, file: StoredFile) -> list[tuple[int, int, int, int]]:
        """Return a file's groups of rows: number, first and last position, and bytes."""
        with _telling(file), self._open(file) as parquet:
            return [
                (number, *_positions_of(parquet, number), parquet.metadata.row_group(number)
                 .total_byte_size) for number in range(parquet.num_row_groups)
            ]  # fmt: skip

    def read_group(self, file: StoredFile, group: int, columns: Sequence[str]) -> pa.Table:
        """Return some columns of one group of rows of a file."""
        schema = pa.schema([self.columns.field(name) for name in columns])
        with _telling(file), self._open(file) as parquet:
            names = _inside(schema, file)
            rows = parquet.read_row_groups([group], names, use_threads=self._may_use_threads)
            return _as_declared(rows, schema, file)

    def _read_file(self, file: StoredFile, schema: pa.Schema, meets: Meets | None) -> pa.Table:
        with _telling(file), self._open(file) as parquet:
            names = _inside(schema, file)
            if meets is None or parquet.num_row_groups == 1:
                rows = parquet.read(names, use_threads=self._may_use_threads)
            else:
                every = range(parquet.num_row_groups)
                wanted = [each for each in every if meets(*_positions_of(parquet, each))]
                rows = parquet.read_row_groups(wanted, names, use_threads=self._may_use_threads)
        return _as_declared(rows, schema, file)

    def _open(self, file: StoredFile) -> pq.ParquetFile:
        if self._folder is not None:
            # A shallow clone of Spark's names the files of its source by their URLs.
            source: Any = os.path.join(self._folder, on_disk(file.path) or file.path)
        elif file.size <= _WHOLE:
            with self._storage.open_input_file(file.path) as stored:
                source = pa.BufferReader(stored.read())
        else:
            source = self._storage.open_input_file(file.path)
        return pq.ParquetFile(source, coerce_int96_timestamp_unit="us")

    @property
    def _may_use_threads(self) -> bool:
        """Whether pyarrow may decode the columns of a file in threads of its own.

        A thread that still lets go of Python's memory, as that of a file from object storage is,
        aborts a process that ends at that moment.
        """
        return self._folder is not None

    @cached_property
    def _folder(self) -> str | None:
        return None if "://" in self._address else self._address

    @cached_property
    def _storage(self) -> Any:
        sizes = {file.path: file.size for file in self.files()}  # or else each is asked for
        handler = DeltaStorageHandler(self._address, self._options, sizes)
        return pyarrow.fs.PyFileSystem(handler)


@contextmanager
def _telling(file: StoredFile) -> Iterator[None]:
    """Raise what pyarrow cannot make sense of as what it is: it has dozens of texts for that."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise OSError(f"{file.path} is corrupt: {error}") from error


def _inside(schema: pa.Schema, file: StoredFile) -> list[str]:
    return [name for name in schema.names if name not in file.partition]


def _positions_of(parquet: pq.ParquetFile, group: int) -> tuple[int, int]:
    """Return the first and the last position that a group of rows may have."""
    stored = parquet.metadata.row_group(group)
    for number in range(stored.num_columns):
        column = stored.column(number)
        if column.path_in_schema == "position":
            told = column.statistics
            if told is not None and told.has_min_max:
                return int(told.min), int(told.max)
    return 0, 2**63 - 1


def _as_declared(rows: pa.Table, schema: pa.Schema, file: StoredFile) -> pa.Table:
    """Give rows of a file the columns of a schema: of the partition, cast, or null."""
    columns = []
    for each in schema:
        if each.name in file.partition:
            value = pa.scalar(file.partition[each.name], each.type)
            columns.append(pa.repeat(value, rows.num_rows))
        elif each.name not in rows.column_names:
            columns.append(pa.nulls(rows.num_rows, each.type))
        else:
            found = rows[each.name]
            columns.append(found if found.type == each.type else found.cast(options=_as(each.type)))
    return pa.Table.from_arrays(columns, schema=schema)


def _as(type_: pa.DataType) -> pc.CastOptions:
    """Let nothing of one row keep the others of its file from being read."""
    return pc.CastOptions(target_type=type_, allow_invalid_utf8=True, allow_time_truncate=True)


def _stored_file(action: Mapping[str, Any]) -> StoredFile:
    def told(kind: str) -> dict[str, Any]:
        return {
            name.removeprefix(kind): value
            for name, value in action.items()
            if name.startswith(kind)
        }

    return StoredFile(
        path=unquote(action["path"]),
        size=action["size_bytes"],
        rows=action["num_records"],
        partition=told("partition."),
        least=told("min."),
        most=told("max."),
        nulls=told("null_count."),
    )


def _data_file(file: StoredFile) -> DataFile:
    latest: datetime | None = file.most.get("publish_time")
    day: date | None = file.partition.get("publish_date")
    return DataFile(
        rows=file.rows,
        size=file.size,
        publish_date=day,
        position_min=file.least.get("position"),
        position_max=file.most.get("position"),
        publish_time_min=file.least.get("publish_time"),
        publish_time_max=None if latest is None else latest + _SHORT_OF,
    )
