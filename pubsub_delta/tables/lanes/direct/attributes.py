"""Attributes as Arrow columns: every message has a map, and no map has a key twice.

Publishing refuses a duplicate key. Other writers can store one, as Parquet permits it: its first
value counts, for filters and readers alike.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MAX_SPARSITY = 64


def entries(maps: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the pairs of key and value of all messages, one after the other."""
    return pc.list_flatten(_as_lists(maps))


def tidied(maps: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return maps with empty ones for null, and only the first value of a duplicate key.

    >>> of = pa.map_(pa.string(), pa.string())
    >>> tidied(pa.chunked_array([[None, [("a", "1"), ("b", "2"), ("a", "3")]]], of)).to_pylist()
    [[], [('a', '1'), ('b', '2')]]
    """
    sizes = pc.fill_null(pc.list_value_length(_as_lists(maps)), 0).to_numpy()
    first = _first_ones(maps, sizes) if len(sizes) and sizes.max() > 1 else None
    if first is None and not maps.null_count:
        return maps
    keys, values = (pc.struct_field(entries(maps), each).combine_chunks() for each in (0, 1))
    if first is not None:
        keys, values = keys.take(first), values.take(first)
        sizes = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[first], minlength=len(sizes))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, values)


def _first_ones(maps: pa.ChunkedArray, sizes: np.ndarray) -> np.ndarray | None:
    """Return which of all pairs are the first with their key in their map; None if all are."""
    keys = pc.struct_field(entries(maps), 0).combine_chunks().dictionary_encode()
    different = len(keys.dictionary)
    places = np.repeat(np.arange(len(sizes)), sizes) * different + keys.indices.to_numpy()
    if len(sizes) * different <= _MAX_SPARSITY * len(places):  # quicker than to sort them
        present = np.zeros(len(sizes) * different, bool)
        present[places] = True
        if np.count_nonzero(present) == len(places):
            return None
    first = np.unique(places, return_index=True)[1]
    return np.sort(first) if len(first) < len(places) else None


def _as_lists(maps: pa.ChunkedArray) -> pa.ChunkedArray:
    entry = pa.struct(
        [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())]
    )
    return maps.cast(pa.list_(entry))
