"""Arrow arrays as anybody may write them: every kind of type and encoding, right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view())
BYTES_TYPES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3))

texts = st.one_of(st.text(max_size=4), st.sampled_from(["", "a", "é", "✈\0", "k" * 257]))
Arrays = st.SearchStrategy[Any]


def of_type(type_: pa.DataType, values: st.SearchStrategy[Any], count: int) -> Arrays:
    """Return arrays of so many values, or nulls."""
    rows = st.lists(st.one_of(st.none(), values), min_size=count, max_size=count)
    return rows.map(lambda each: pa.array(each, type_))


def encoded(arrays: Arrays) -> Arrays:
    """Return arrays as they are, in chunks, or as a part of a longer one."""
    ways: Sequence[Callable[[pa.Array], Any]] = (
        lambda array: array,
        lambda array: pa.chunked_array([array.slice(0, 1), array.slice(1)]),
        lambda array: pa.concat_arrays([array, array]).slice(len(array)),
    )
    return st.tuples(arrays, st.sampled_from(ways)).map(lambda both: both[1](both[0]))


def dictionaries(arrays: Arrays) -> Arrays:
    return arrays.map(lambda array: array.dictionary_encode())


def by_runs(count: int) -> Arrays:
    if not count:
        return st.just(pa.array([], pa.string()))
    return texts.map(
        lambda text: pa.RunEndEncodedArray.from_arrays(
            pa.array([count], pa.int32()), pa.array([text])
        )
    )


def text_arrays(count: int) -> Arrays:
    plain = st.one_of([of_type(type_, texts, count) for type_ in TEXT_TYPES])
    small = of_type(pa.string(), texts, count)
    return encoded(st.one_of(plain, dictionaries(small), by_runs(count)))


def bytes_arrays(count: int) -> Arrays:
    fixed = st.binary(min_size=3, max_size=3)
    plain = st.one_of([of_type(type_, fixed, count) for type_ in BYTES_TYPES])
    return encoded(st.one_of(plain, dictionaries(of_type(pa.binary(), fixed, count))))


def no_utf8(count: int) -> Arrays:
    """Return texts that are none: their bytes were never checked."""
    raw = st.lists(st.sampled_from([b"\xff", b"ok", b"\xed\xa0\x80"]), min_size=count)
    return raw.map(lambda each: pa.array(each[:count], pa.binary()).view(pa.string()))


def maps(count: int) -> Arrays:
    pairs = st.lists(st.tuples(texts, st.one_of(st.none(), texts)), max_size=3)
    return of_type(pa.map_(pa.string(), pa.string()), pairs, count)


def good_maps(count: int) -> Arrays:
    """Return maps that keep the rules: keys of 1 to 4 letters, each once."""
    keys = st.text("abé", min_size=1, max_size=4)
    pairs = st.dictionaries(keys, st.text(max_size=4), min_size=1, max_size=3)
    rows = st.lists(pairs.map(lambda each: [*each.items()]), min_size=count, max_size=count)
    types = st.sampled_from([pa.map_(each, each) for each in (pa.string(), pa.large_string())])
    return encoded(st.builds(pa.array, rows, types))


def _structs(count: int) -> list[Arrays]:
    twice = pa.struct([pa.field("a", pa.string()), pa.field("a", pa.string())])
    columns = [pa.array([each] * count, pa.string()) for each in ("x", "y")]
    return [
        st.just(pa.StructArray.from_arrays(columns, fields=[*twice])),
        of_type(pa.struct([pa.field("a", pa.string())]), st.just({"a": "x"}), count),
        of_type(pa.struct([pa.field("a", pa.int8())]), st.just({"a": 1}), count),
        of_type(pa.struct([]), st.just({}), count),
    ]


NUMBERS = (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.date64())
TIMES = (
    *(pa.timestamp(unit, zone) for unit in ("s", "ns") for zone in (None, "UTC", "Asia/Tokyo")),
    pa.duration("ns"),
    pa.time64("ns"),
    pa.month_day_nano_interval(),
)


def other_arrays(count: int) -> Arrays:
    """Return arrays of what no column of a message is."""
    numbers = [st.just(pa.nulls(count, type_)) for type_ in (*NUMBERS, *TIMES)]
    zeros = [st.just(pa.array([0] * count, type_)) for type_ in (pa.int8(), pa.float64())]
    far = [
        st.just(pa.array([2**62] * count, pa.int64()).view(type_))
        for type_ in (pa.timestamp("s"), pa.timestamp("ns"), pa.duration("s"), pa.date64())
    ]
    nested = [
        of_type(pa.list_(pa.uint8()), st.just([1, 2]), count),
        of_type(pa.list_(pa.list_(pa.string())), st.just([["a", "b"]]), count),
        of_type(pa.map_(pa.string(), pa.int64()), st.just([("a", 1)]), count),
        of_type(pa.map_(pa.int64(), pa.string()), st.just([(1, "a")]), count),
        of_type(pa.map_(pa.string(), pa.list_(pa.string())), st.just([("a", ["b"])]), count),
    ]
    odd = [
        st.just(pa.nulls(count)),
        st.just(pa.array([Decimal("1.5")] * count, pa.decimal128(2, 1))),
        st.just(pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"] * count, pa.string()))),
        st.just(
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"u" * 16] * count, pa.binary(16)))
        ),
        st.just(
            pa.UnionArray.from_dense(
                pa.array([0] * count, pa.int8()),
                pa.array([*range(count)], pa.int32()),
                [pa.array(["a"] * count, pa.string())],
            )
        ),
    ]
    return st.one_of([*numbers, *zeros, *far, *nested, *odd, *_structs(count)])


def any_arrays(count: int) -> Arrays:
    return st.one_of(
        text_arrays(count), bytes_arrays(count), maps(count), no_utf8(count), other_arrays(count)
    )


@st.composite
def tables(draw: st.DrawFn, most: int = 3) -> pa.Table:
    """Return tables of any columns, with names that messages have, or others, or one twice."""
    count = draw(st.integers(0, most))
    names = draw(
        st.one_of(
            st.permutations(["data", "attributes", "ordering_key"]).map(lambda all_: all_[:2]),
            st.just(["data", "attributes", "ordering_key"]),
            st.lists(
                st.sampled_from(["data", "attributes", "message_id", "publish_time", "DATA", ""]),
                max_size=4,
            ),
        )
    )
    usual = {"data": bytes_arrays, "attributes": good_maps, "ordering_key": text_arrays}
    columns = []
    for name in names:
        arrays = usual.get(name, any_arrays) if draw(st.booleans()) else any_arrays
        columns.append(draw(arrays(count)))
    return pa.Table.from_arrays(columns, names=[*names])
