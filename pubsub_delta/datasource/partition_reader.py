"""The work of a reading task: reads a partition of a topic's table in the selected columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.datasource.columns import needed, shaped
from pubsub_delta.datasource.partitions import FilesPartition, SpansPartition
from pubsub_delta.delivery.unreadable import missing_messages
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct import DirectScans
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.store import Tables


def read_spans(
    tables: Tables, part: SpansPartition, columns: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of spans in order; DataLoss if a leased message is missing."""
    spans = [each.span() for each in part.spans]
    count = 0
    for rows in tables.lanes.local_scans.batches(
        part.table, Window.of(spans), needed(columns.names)
    ):
        count += rows.num_rows
        yield shaped(
            rows,
            columns,
            spans=spans,
            ack_prefix=part.ack_prefix or "",
            counted=part.counted,
        )
    leased = sum(map(len, spans))
    if part.ack_prefix is not None and count < leased:
        raise missing_messages(part.table, leased - count, leased)


def read_files(
    tables: Tables, part: FilesPartition, columns: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of files that were stored at a version."""
    positions = None if part.positions is None else Positions.from_bytes(part.positions)
    window = Window(positions, part.earliest, part.latest)
    names = needed(columns.names)
    keys = part.ordering_keys
    if keys is not None and "ordering_key" not in names:
        names.append("ordering_key")
    scans = cast(DirectScans, tables.lanes.local_scans)
    for rows in scans.of_files(part.table, part.version, part.paths, window, names):
        if keys is not None:
            found = pc.fill_null(rows.column("ordering_key"), "")
            rows = rows.filter(pc.is_in(found, value_set=pa.array(keys, pa.string())))
        if rows.num_rows:
            yield shaped(rows, columns)
