"""The parts of a search: which positions each has, how many they are, and how far a search is."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from pubsub_delta.operations import find
from pubsub_delta.operations.find import FoundMessage, MessageSearch
from pubsub_delta.policy.ack_state import Span, State
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import at
from tests.unit.in_memory import InMemory

TOPIC = "projects/local/topics/flights"


def files(*each: tuple[int, int, int, int | None]) -> Any:
    """Return stored messages of files, each of two positions, a size, and a number of rows."""
    names = ("position_min", "position_max", "size", "rows")
    of_files = [SimpleNamespace(**dict(zip(names, one, strict=True))) for one in each]
    return SimpleNamespace(files=lambda: of_files)


def storing(positions: Positions) -> Any:
    scans = SimpleNamespace(fold=lambda table, window: positions & window.positions)
    return SimpleNamespace(table="messages", scans=lambda window: scans)


@pytest.mark.parametrize(
    ("file", "size", "rows"),
    [
        ((5, 9, 1_000_000, 1_000), (1 << 25) // 1_000, 1_000),
        ((5, 9, 1_000_000, 1), 256, 1),
        ((5, 9, 10_000, 1_000), 1 << 16, 1_000),
        ((5, 9, 0, 10), 1 << 16, 10),
        ((5, 9, 1_000, None), (1 << 25) // 1_000, 0),
        ((5, 9, 1_000, 0), (1 << 25) // 1_000, 0),
    ],
)
def test_a_part_has_as_many_positions_as_the_mean_size_permits(
    file: tuple[int, int, int, int | None], size: int, rows: int
) -> None:
    stored = files(file)
    assert find._ranges(stored, MessageQuery(), None) == [find._Range(stored, 5, 9, size, rows)]


@pytest.mark.parametrize(
    ("query", "held", "expected"),
    [
        (MessageQuery(), Positions.between(6, 7), [(6, 7)]),
        (MessageQuery(), Positions.between(0, 50), [(5, 9)]),
        (MessageQuery(before=8), None, [(5, 7)]),
        (MessageQuery(before=8), Positions.between(7, 9), [(7, 7)]),
        (MessageQuery(before=5), None, []),
        (MessageQuery(message_id=9), None, [(9, 9)]),
        (MessageQuery(message_id=10), None, []),
        (MessageQuery(), Positions(), []),
    ],
)
def test_a_range_has_no_more_than_what_is_wanted_of_its_files(
    query: MessageQuery, held: Positions | None, expected: list[tuple[int, int]]
) -> None:
    found = find._ranges(files((5, 9, 10, 1)), query, held)
    assert [part for each in found for part in each.parts()] == expected


def test_files_that_overlap_are_one_range_and_others_come_the_highest_first() -> None:
    stored = files((40, 60, 10_000, 10), (0, 20, 1_000_000, 10), (20, 39, 0, 7), (5, 8, 10, 1))
    assert find._ranges(stored, MessageQuery(), None) == [
        find._Range(stored, 40, 60, (1 << 25) // 1_000, 10),
        find._Range(stored, 0, 39, (1 << 25) // 100_000, 18),
    ]


@pytest.mark.parametrize(
    ("high", "size", "rows", "expected"),
    [
        (100, 5, 1, [(100, 100)]),
        (104, 5, 5, [(100, 104)]),
        (105, 5, 6, [(101, 105), (100, 100)]),
        (109, 5, 9, [(105, 109), (100, 104)]),
        (124, 5, 4, [(120, 124), (115, 119), (110, 114), (105, 109), (100, 104)]),
    ],
)
def test_dense_parts_follow_each_other_without_a_gap(
    high: int, size: int, rows: int, expected: list[tuple[int, int]]
) -> None:
    whole = find._Range(files(), 100, high, size, rows)
    assert list(whole.parts()) == expected
    assert whole.reads == len(expected)


def test_parts_are_by_message_where_more_than_four_times_as_many_would_be_by_position() -> None:
    stored = storing(Positions.of([3, 100, 101, 120, 140, 150, 165, 166]))
    dense = find._Range(stored, 100, 164, 5, 12)
    assert (dense.reads, len(list(dense.parts()))) == (13, 13), "12 are not more than 4 * 3"
    sparse = find._Range(stored, 100, 165, 5, 12)
    assert list(sparse.parts()) == [(165, 165), (100, 150)]
    assert sparse.reads == 12 // 5 + 1


def test_progress_is_the_share_of_the_parts_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "PART", 1)
    store = InMemory()
    store.publish(*"abcd")
    search = store.store.find_messages(TOPIC)
    assert search.progress == 0.0
    assert [search.progress for _ in search.rows()] == [0.0, 0.25, 0.5, 0.75]
    assert search.progress == 1.0


@pytest.mark.parametrize("is_counted", [False, True])
def test_an_attempt_is_told_where_it_is_counted(is_counted: bool) -> None:
    def span(state: State, first: int, attempt: int) -> Span:
        positions = Positions.between(first, first + 1)
        return Span(state, positions, at(0), at(0), delivery_attempt=attempt)

    spans = [span(State.AVAILABLE, 2, 3), span(State.ACKED, 4, 1)]
    stored: Any = None
    search = MessageSearch("t", stored, MessageQuery(), spans, is_counted)
    assert [search.state_of(position) for position in range(1, 7)] == [
        (None, None),
        *[(State.AVAILABLE.value, 3 if is_counted else None)] * 2,
        *[(State.ACKED.value, 1 if is_counted else None)] * 2,
        (None, None),
    ]


def test_a_publish_has_its_first_position_and_not_its_end() -> None:
    def publishes(earliest: datetime, latest: datetime) -> list[SimpleNamespace]:
        assert earliest == latest == at(1)
        ends = [(3, 5, "first"), (6, 7, "second")]
        return [SimpleNamespace(first_position=a, end_position=b, publish_id=c) for a, b, c in ends]

    stored: Any = SimpleNamespace(history=SimpleNamespace(publishes_within=publishes))
    search = MessageSearch("t", stored, MessageQuery())

    def publish_id(position: int) -> str | None:
        found = FoundMessage(str(position), at(1), b"", 0, {}, "", None, None)
        return search.publish_id_of(found)

    found = [publish_id(position) for position in range(2, 8)]
    assert found == [None, "first", "first", None, "second", None]
