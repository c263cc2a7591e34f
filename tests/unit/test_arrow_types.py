"""Types of Arrow: which hold texts, bytes and pairs, which are sorted, which two are the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pubsub_delta.tables.arrow_types import are_pairs, is_bytes, is_sortable, is_text
from pubsub_delta.tables.target_rows import _same

TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
BYTES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4)]
NUMBERS = [pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.decimal128(9, 2), pa.bool_()]
TIMES = [pa.timestamp("us", "UTC"), pa.date32(), pa.time64("ns"), pa.duration("ms")]
NESTED = [
    pa.list_(pa.string()),
    pa.map_(pa.string(), pa.string()),
    pa.struct([pa.field("a", pa.string())]),
]
INTERVAL = pa.month_day_nano_interval()
EVERY = [*TEXTS, *BYTES, *NUMBERS, *TIMES, *NESTED, INTERVAL, pa.null()]


def among(types: list[pa.DataType]) -> list[pa.DataType]:
    """Return types with those that encode them by a dictionary or by runs."""
    encoded = [pa.dictionary(pa.int8(), each) for each in types if each != pa.null()]
    return [*types, *encoded, *(pa.run_end_encoded(pa.int32(), each) for each in types)]


def test_texts_and_bytes_are_known_in_every_form() -> None:
    texts = [each for each in EVERY if is_text(each)]
    assert texts == [*TEXTS, pa.null()]
    assert [each for each in EVERY if is_bytes(each)] == [*TEXTS, *BYTES, pa.null()]
    assert all(is_text(each) and is_bytes(each) for each in among(texts))
    assert all(is_bytes(each) and not is_text(each) for each in among(BYTES))
    assert not any(is_bytes(each) for each in among([pa.int8(), pa.date32()]))


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (pa.map_(pa.string(), pa.large_string()), True),
        (pa.map_(pa.string(), pa.null()), True),
        (pa.map_(pa.string(), pa.int8()), False),
        (pa.map_(pa.int8(), pa.string()), False),
        (pa.map_(pa.binary(), pa.string()), False),
        (pa.struct([]), True),
        (pa.struct([pa.field("a", pa.string()), pa.field("b", pa.null())]), True),
        (pa.struct([pa.field("a", pa.string()), pa.field("a", pa.string())]), False),
        (pa.struct([pa.field("a", pa.string()), pa.field("b", pa.binary())]), False),
        (pa.null(), True),
        (pa.string(), False),
        (pa.list_(pa.string()), False),
    ],
    ids=str,
)
def test_pairs_are_maps_and_structs_of_texts(type_: pa.DataType, expected: bool) -> None:
    assert are_pairs(type_) is expected


def test_what_arrow_sorts_is_known() -> None:
    """Views, nulls, intervals and what is nested or encoded are sorted by others."""
    unsorted = [pa.string_view(), pa.binary_view(), *NESTED, INTERVAL, pa.null()]
    assert [each for each in EVERY if not is_sortable(each)] == unsorted
    for each in EVERY:
        if is_sortable(each) and each != pa.float16():  # where Arrow refuses, publish tells it
            pa.table({"a": pa.array([], each)}).sort_by("a")
    assert not any(is_sortable(each) for each in among(EVERY)[len(EVERY) :])


def struct(**types: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, type_) for name, type_ in types.items()])


ONE, TWO, OTHER = struct(a=pa.int8()), struct(a=pa.int8(), b=pa.int8()), struct(a=pa.int16())


@pytest.mark.parametrize(
    ("column", "record", "dropping", "strictly"),
    [
        (pa.int8(), pa.int8(), True, True),
        (pa.int8(), pa.int16(), False, False),
        (ONE, ONE, True, True),
        (ONE, TWO, True, False),
        (TWO, ONE, False, False),
        (ONE, OTHER, False, False),
        (struct(b=pa.int8(), a=pa.int8()), TWO, True, False),
        (ONE, pa.int8(), False, False),
        (pa.int8(), ONE, False, False),
        (pa.list_(ONE), pa.list_(TWO), True, False),
        (pa.list_(TWO), pa.list_(ONE), False, False),
        (pa.list_(pa.field("element", ONE)), pa.list_(pa.field("item", ONE)), True, True),
        (pa.list_(ONE), ONE, False, False),
        (ONE, pa.list_(ONE), False, False),
        (pa.map_(pa.string(), ONE), pa.map_(pa.string(), TWO), True, False),
        (pa.map_(pa.string(), TWO), pa.map_(pa.string(), ONE), False, False),
        (pa.map_(pa.string(), ONE), pa.map_(pa.int8(), ONE), False, False),
        (pa.map_(pa.string(), ONE), pa.map_(pa.string(), OTHER), False, False),
        (pa.map_(pa.string(), ONE), pa.list_(ONE), False, False),
        (struct(x=pa.list_(ONE)), struct(x=pa.list_(TWO), y=ONE), True, False),
        (struct(x=ONE), struct(x=OTHER), False, False),
    ],
    ids=str,
)
def test_a_record_fits_a_column_of_its_type(
    column: pa.DataType, record: pa.DataType, dropping: bool, strictly: bool
) -> None:
    """drop_unknown_fields: "any fields … that are not a part of the table schema are dropped"."""
    assert _same(column, record, drops_unknown=True) is dropping
    assert _same(column, record, drops_unknown=False) is strictly
