"""Data files that are written first and added to a table by a later commit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction

from pubsub_delta.clock import to_micros
from pubsub_delta.tables.lanes.direct.storage import address_of

_GROUP = 65_536
"""Rows of a row group, so that few messages of a large file are read without the others."""
_COUNTED_UP = "DELTA_BINARY_PACKED"


@dataclass(frozen=True)
class WrittenFile:
    """A file of messages of one publish time, in one run of positions, that no commit has added."""

    path: str
    size: int
    first_position: int
    last_position: int
    publish_time: datetime

    @property
    def rows(self) -> int:
        """How many messages it holds."""
        return self.last_position - self.first_position + 1

    def action(self) -> AddAction:
        """Return the action of a commit that adds the file."""
        time = self.publish_time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        stats = {
            "numRecords": self.rows,
            "minValues": {"position": self.first_position, "publish_time": time},
            "maxValues": {"position": self.last_position, "publish_time": time},
            "nullCount": {"position": 0, "publish_time": 0},
        }
        return AddAction(
            path=self.path,
            size=self.size,
            partition_values={"publish_date": self.publish_time.date().isoformat()},
            modification_time=to_micros(self.publish_time) // 1000,
            data_change=True,
            stats=json.dumps(stats),
        )


def write_file(
    table: str,
    options: Mapping[str, str] | None,
    path: str,
    columns: pa.Schema,
    parts: Iterable[pa.Table],
) -> int:
    """Write rows to a new file below a table; return its bytes.

    It is visible when a commit adds it; VACUUM removes it if none does.
    """
    counted = {"position": _COUNTED_UP, "publish_time": _COUNTED_UP}
    texts = ["ordering_key", "attributes.key_value.key", "attributes.key_value.value"]
    with (
        _opened(address_of(table), options, path) as sink,
        pq.ParquetWriter(
            sink, columns, compression="zstd", use_dictionary=texts, column_encoding=counted
        ) as writer,
    ):
        for rows in _in_groups(parts):
            writer.write_table(rows, row_group_size=_GROUP)
        writer.close()
        return int(sink.tell())


def missing_file(table: str, files: Iterable[WrittenFile]) -> str | None:
    """Return a file below a local table that this machine does not have as a task wrote it."""
    address = address_of(table)
    if "://" in address:
        return None
    for file in files:
        whole = os.path.join(address, file.path)
        try:
            found = os.path.getsize(whole)
        except FileNotFoundError:
            return whole
        if found != file.size:
            return whole
    return None


def _opened(address: str, options: Mapping[str, str] | None, path: str) -> Any:
    if "://" in address:
        handler = DeltaStorageHandler(address, dict(options) if options else None)
        return pyarrow.fs.PyFileSystem(handler).open_output_stream(path)
    whole = os.path.join(address, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    return pa.OSFile(whole, "wb")


def _in_groups(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Join small tables into row groups."""
    held: list[pa.Table] = []
    count = 0
    for rows in parts:
        held.append(rows)
        count += rows.num_rows
        if count >= _GROUP:
            yield pa.concat_tables(held)
            held, count = [], 0
    if held:
        yield pa.concat_tables(held)
