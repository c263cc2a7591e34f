"""Attributes as they are stored: what another writer may have left is read in one way."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.tables.lanes.direct.attributes import entries, tidied
from pubsub_delta.tables.lanes.direct.filters import matching
from pubsub_delta.tables.schemas import TEXT_BY_TEXT

Pairs = list[tuple[str, str | None]]
TWICE: Pairs = [("k", "1"), ("b", "x"), ("k", "2")]


def stored(*maps: Pairs | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(list(maps), TEXT_BY_TEXT)])


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ('attributes.k = "1"', True),
        ('attributes.k = "2"', False),
        ('attributes.k != "1"', False),
        ('hasPrefix(attributes.k, "1")', True),
        ('hasPrefix(attributes.k, "2")', False),
        ("attributes:k", True),
    ],
)
def test_a_filter_goes_by_the_value_that_is_delivered(text: str, passes: bool) -> None:
    filter_ = parse_filter(text)
    assert filter_ is not None
    for maps in (stored(TWICE), pa.chunked_array([tidied(stored(TWICE))])):
        assert matching(filter_, maps).to_pylist() == [passes]


def test_of_a_key_that_stands_twice_the_first_value_is_left() -> None:
    found = tidied(stored([("k", "2")], TWICE, [], None, [("a", "1"), ("a", "2"), ("a", "3")]))
    assert found.to_pylist() == [
        [("k", "2")],
        [("k", "1"), ("b", "x")],
        [],
        [],
        [("a", "1")],
    ]
    assert found.type == TEXT_BY_TEXT


def test_maps_that_are_tidy_are_left_as_they_are() -> None:
    tidy = stored([("k", "1"), ("b", "2")], [("b", "2")], [])
    assert tidied(tidy) is tidy
    assert tidied(stored()).to_pylist() == []


def test_many_different_keys_are_compared_as_well() -> None:
    rows: list[Pairs] = [[(f"{n}", "1"), (f"{n}", "2"), (f"{n} {n}", "3")] for n in range(500)]
    assert tidied(stored(*rows)).to_pylist() == [[row[0], row[2]] for row in rows]


def test_a_part_of_a_column_is_tidied_by_itself() -> None:
    column = pa.array([TWICE, [("a", "1")], None, TWICE, [("c", "3"), ("c", "4")]], TEXT_BY_TEXT)
    part = pa.chunked_array([column.slice(1, 3), column.slice(4)])
    assert tidied(part).to_pylist() == [[("a", "1")], [], TWICE[:2], [("c", "3")]]
    assert entries(tidied(stored(TWICE))).to_pylist() == [
        {"key": "k", "value": "1"},
        {"key": "b", "value": "x"},
    ]
