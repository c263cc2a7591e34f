"""Attributes as columns of Arrow: no message is without a map, and in none does a key stand twice.

Publishing refuses a key that stands twice. Other writers can store one, since the format of the
files permits it: the first value of it counts, for filters and readers alike.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SEVERAL = 64


def entries(maps: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the pairs of key and value of all messages, one after the other."""
    return pc.list_flatten(_as_lists(maps))


def tidied(maps: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return maps where null is empty, and of a key that stands twice only the first value is left.

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
    if len(sizes) * different <= _SEVERAL * len(places):  # quicker than to sort them
        seen = np.zeros(len(sizes) * different, bool)
        seen[places] = True
        if np.count_nonzero(seen) == len(places):
            return None
    first = np.unique(places, return_index=True)[1]
    return np.sort(first) if len(first) < len(places) else None


def _as_lists(maps: pa.ChunkedArray) -> pa.ChunkedArray:
    entry = pa.struct(
        [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())]
    )
    return maps.cast(pa.list_(entry))
