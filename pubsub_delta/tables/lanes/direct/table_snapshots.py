"""A table at one version, Delta's snapshot: its files and their rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from pubsub_delta.threads import in_threads

_PARALLEL_READS = 16
"""Files that are read at the same time from object storage."""
_MAX_WHOLE_FILE = 8 * 1024 * 1024
"""Bytes of a file up to which one request for all of it beats several for parts of it."""
_MAX_CACHED_BYTES = 1024 * 1024
"""Bytes of its files up to which all rows of a table are cached."""

_MAX_FEW_ROWS = 1000
"""Rows up to which a change of one row overwrites its table: some 100 kB of a registry."""

_MAXIMUM_ERROR = timedelta(microseconds=999)
"""How much too low a maximum in the log's statistics may be, which are in milliseconds."""

IsWanted = Callable[[int, int], bool]
"""Returns whether rows between two positions are needed."""


@dataclass(frozen=True)
class StoredFile:
    """A Parquet file of a table with its statistics in the log; None if one is missing."""

    path: str
    size: int
    rows: int | None
    partition: Mapping[str, Any]
    minimum: Mapping[str, Any]
    maximum: Mapping[str, Any]
    nulls: Mapping[str, int | None] = field(default_factory=dict)

    def is_run(self) -> bool:
        """Return whether the file has every position between its minimum and its maximum."""
        first, last = self.minimum.get("position"), self.maximum.get("position")
        complete = self.rows is not None and self.nulls.get("position") == 0
        return complete and first is not None and self.rows == last - first + 1


class TableSnapshot:
    """The files of a table at a version. It never changes, but VACUUM may remove its files."""

    def __init__(
        self,
        table: str,
        opened: DeltaTable,
        options: Mapping[str, str] | None,
        rows: pa.Table | None = None,
    ) -> None:
        protocol = opened.protocol()
        if protocol.min_reader_version > 1:
            features = ", ".join(protocol.reader_features or [])
            raise FailedPrecondition(
                f"{table}: only Spark can read its features ({features}); tables that pubsub_delta "
                "has created have none"
            )
        self.id = opened.metadata().id
        self.version = opened.version()
        self.columns = pa.schema(opened.schema().to_arrow())
        self._actions = pa.table(opened.get_add_actions(flatten=True))
        self._address = address_of(table)
        self._options = dict(options) if options else None
        if rows is not None:  # they were just written
            self._all_rows = rows.cast(self.columns)

    def files(self, where: Where = ()) -> list[StoredFile]:
        """Return the files that can have rows for which some conditions hold."""
        return [_stored_file(each) for each in may_hold(self._actions, where).to_pylist()]

    def data_files(self) -> list[DataFile]:
        """Return the files of a topic; the maximum of their publish times is an upper bound."""
        return [_data_file(each) for each in self.files()]

    @property
    def has_few_rows(self) -> bool:
        """Whether overwriting all rows is faster than a MERGE of one."""
        counts = self._actions["num_records"].to_pylist()
        return (
            len(counts) <= _PARALLEL_READS and None not in counts and sum(counts) <= _MAX_FEW_ROWS
        )

    def rows(self, where: Where = (), columns: Sequence[str] | None = None) -> pa.Table:
        """Return some columns of the rows for which all conditions hold."""
        names = self.columns.names if columns is None else list(columns)
        if sum(self._actions["size_bytes"].to_pylist()[:_PARALLEL_READS]) <= _MAX_CACHED_BYTES and (
            self._actions.num_rows <= _PARALLEL_READS
        ):
            return passing(self._all_rows, where).select(names)
        needed = list(dict.fromkeys([*names, *(name for name, _, _ in where)]))
        parts = self.read(self.files(where), needed)
        return passing(pa.concat_tables(parts), where).select(names)

    @cached_property
    def _all_rows(self) -> pa.Table:
        return pa.concat_tables(self.read(self.files(), self.columns.names))

    def read(
        self, files: Sequence[StoredFile], columns: Sequence[str], is_wanted: IsWanted | None = None
    ) -> list[pa.Table]:
        """Return columns of files with the types of the table, as one table for each file.

        ``meets``: selects row groups by the positions in the file's statistics.
        """
        schema = pa.schema([self.columns.field(name) for name in columns])

        def table_of(file: StoredFile) -> pa.Table:
            return self._read_file(file, schema, is_wanted)

        if self._directory is not None or len(files) < 2:
            return [table_of(file) for file in files] or [schema.empty_table()]
        return in_threads(table_of, files, _PARALLEL_READS)

    def groups(self, file: StoredFile) -> list[tuple[int, int, int, int]]:
        """Return the row groups of a file: number, first and last position, and bytes."""
        with _naming_corrupt_files(file), self._open(file) as parquet:
            return [
                (number, *_positions_of(parquet, number), parquet.metadata.row_group(number)
                 .total_byte_size) for number in range(parquet.num_row_groups)
            ]  # fmt: skip

    def read_group(self, file: StoredFile, group: int, columns: Sequence[str]) -> pa.Table:
        """Return some columns of one row group of a file."""
        schema = pa.schema([self.columns.field(name) for name in columns])
        with _naming_corrupt_files(file), self._open(file) as parquet:
            names = _stored_columns(schema, file)
            rows = parquet.read_row_groups([group], names, use_threads=self._may_use_threads)
            return _as_declared(rows, schema, file)

    def _read_file(
        self, file: StoredFile, schema: pa.Schema, is_wanted: IsWanted | None
    ) -> pa.Table:
        with _naming_corrupt_files(file), self._open(file) as parquet:
            names = _stored_columns(schema, file)
            if is_wanted is None or parquet.num_row_groups == 1:
                rows = parquet.read(names, use_threads=self._may_use_threads)
            else:
                every = range(parquet.num_row_groups)
                wanted = [each for each in every if is_wanted(*_positions_of(parquet, each))]
                rows = parquet.read_row_groups(wanted, names, use_threads=self._may_use_threads)
        return _as_declared(rows, schema, file)

    def _open(self, file: StoredFile) -> pq.ParquetFile:
        if self._directory is not None:
            # In a shallow clone by Spark the paths of files are URLs in the source table.
            source: Any = os.path.join(self._directory, on_disk(file.path) or file.path)
        elif file.size <= _MAX_WHOLE_FILE:
            with self._storage.open_input_file(file.path) as stored:
                source = pa.BufferReader(stored.read())
        else:
            source = self._storage.open_input_file(file.path)
        return pq.ParquetFile(source, coerce_int96_timestamp_unit="us")

    @property
    def _may_use_threads(self) -> bool:
        """Whether pyarrow can decode the columns of a file in its own threads.

        A file from object storage is a Python buffer. A thread that frees it while the process ends
        aborts the process.
        """
        return self._directory is not None

    @cached_property
    def _directory(self) -> str | None:
        return None if "://" in self._address else self._address

    @cached_property
    def _storage(self) -> Any:
        sizes = {file.path: file.size for file in self.files()}  # else each takes a request
        handler = DeltaStorageHandler(self._address, self._options, sizes)
        return pyarrow.fs.PyFileSystem(handler)


@contextmanager
def _naming_corrupt_files(file: StoredFile) -> Iterator[None]:
    """Raise errors of pyarrow about invalid files as one OSError that names the file."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise OSError(f"{file.path} is corrupt: {error}") from error


def _stored_columns(schema: pa.Schema, file: StoredFile) -> list[str]:
    return [name for name in schema.names if name not in file.partition]


def _positions_of(parquet: pq.ParquetFile, group: int) -> tuple[int, int]:
    """Return the range of positions that a row group may have."""
    stored = parquet.metadata.row_group(group)
    for number in range(stored.num_columns):
        column = stored.column(number)
        if column.path_in_schema == "position":
            statistics = column.statistics
            if statistics is not None and statistics.has_min_max:
                return int(statistics.min), int(statistics.max)
    return 0, 2**63 - 1


def _as_declared(rows: pa.Table, schema: pa.Schema, file: StoredFile) -> pa.Table:
    """Return rows of a file with the columns of a schema: from the partition, cast, or null."""
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
    """Return a cast that accepts invalid values, so that one row does not hide the others."""
    return pc.CastOptions(target_type=type_, allow_invalid_utf8=True, allow_time_truncate=True)


def _stored_file(action: Mapping[str, Any]) -> StoredFile:
    def values_of(kind: str) -> dict[str, Any]:
        return {
            name.removeprefix(kind): value
            for name, value in action.items()
            if name.startswith(kind)
        }

    return StoredFile(
        path=unquote(action["path"]),
        size=action["size_bytes"],
        rows=action["num_records"],
        partition=values_of("partition."),
        minimum=values_of("min."),
        maximum=values_of("max."),
        nulls=values_of("null_count."),
    )


def _data_file(file: StoredFile) -> DataFile:
    latest: datetime | None = file.maximum.get("publish_time")
    day: date | None = file.partition.get("publish_date")
    return DataFile(
        rows=file.rows,
        size=file.size,
        publish_date=day,
        position_min=file.minimum.get("position"),
        position_max=file.maximum.get("position"),
        publish_time_min=file.minimum.get("publish_time"),
        publish_time_max=None if latest is None else latest + _MAXIMUM_ERROR,
    )
