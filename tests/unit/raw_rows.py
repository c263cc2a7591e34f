"""Rows of any bytes, as damage and other writers leave them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa

from tests.unit.builders import START

RawPairs = Sequence[tuple[bytes, bytes | None]]


def raw_texts(values: Sequence[bytes | None]) -> pa.Array:
    """Return texts that may be no UTF-8."""
    texts = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(texts), *texts.buffers()[1:], texts.buffers()[0])


def raw_maps(maps: Sequence[RawPairs]) -> pa.Array:
    """Return attributes whose keys and values may be no UTF-8."""
    pairs = [pair for each in maps for pair in each]
    offsets = [sum(map(len, maps[:place])) for place in range(len(maps) + 1)]
    keys, values = (raw_texts([pair[n] for pair in pairs]) for n in (0, 1))
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, values)


def raw_rows(
    *attributes: RawPairs,
    keys: Sequence[bytes] | None = None,
    times: Sequence[datetime | None] | None = None,
    first: int = 0,
) -> pa.Table:
    """Return messages from a position on, as they are read."""
    count = len(attributes)
    return pa.table(
        {
            "position": pa.array(range(first, first + count), pa.int64()),
            "publish_time": pa.array(times or [START] * count, pa.timestamp("us", "UTC")),
            "data": pa.array([b"%d" % n for n in range(first, first + count)], pa.binary()),
            "attributes": raw_maps(attributes),
            "ordering_key": raw_texts(keys or [b""] * count),
        }
    )
