"""How a read is cut into parts, each for a task."""

from __future__ import annotations

import pytest

from pubsub_delta.datasource.consumer import Consumer
from pubsub_delta.datasource.partitions import divide, grouped
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.protocol import DataFile
from tests.unit.in_memory import NAME, InMemory


def file(first: int, last: int, size: int) -> DataFile:
    return DataFile(last - first + 1, size, None, first, last, None, None)


def test_positions_are_cut_where_files_begin_and_in_large_ones() -> None:
    files = [file(0, 9, 360), file(10, 19, 360), file(20, 59, 1440)]
    found = divide(Positions.between(5, 59), files, 1000)
    assert [each.runs() for each in found] == [[(5, 9)], [(10, 19)], *[
        [(start, start + 9)] for start in (20, 30, 40, 50)]]  # fmt: skip
    assert Positions.union(found) == Positions.between(5, 59)


def test_a_part_has_as_many_files_as_fit() -> None:
    """The bytes of files that a partition has at most, in the last one as in the first."""
    files = [file(first, first + 9, 360) for first in range(0, 70, 10)]  # 1000 each
    every = Positions.between(0, 69)
    found = {most: divide(every, files, most) for most in (2000, 2999, 3000)}
    assert [len(each) for each in found[3000]] == [30, 30, 10]
    assert [len(each) for each in found[2000]] == [20, 20, 20, 10]
    assert found[2999] == found[2000]


def test_positions_are_not_cut_where_the_log_does_not_tell_of_files() -> None:
    every = Positions.between(5, 59)
    untold = DataFile(None, 1440, None, None, None, None, None)
    assert divide(every, [untold, file(0, 59, 1 << 30)]) == [every]
    assert divide(Positions(), [untold]) == []


def cuts(found: list[Positions]) -> list[tuple[int, int]]:
    return [(each.min, each.max) for each in found]


@pytest.mark.parametrize(
    ("positions", "sizes", "most", "expected"),
    [
        # A file costs 64 bytes a message, and its own bytes.
        ([(0, 9)], [360], 1000, [(0, 9)]),
        ([(0, 9)], [360], 999, [(0, 4), (5, 9)]),
        ([(0, 9)], [360], 500, [(0, 4), (5, 9)]),
        ([(0, 9)], [360], 499, [(0, 2), (3, 5), (6, 9)]),
        ([(0, 9)], [360], 1, [(n, n) for n in range(10)]),
        ([(0, 4)], [360], 500, [(0, 4)]),  # of half a file half the bytes
        ([(0, 4)], [360], 499, [(0, 1), (2, 4)]),
        ([(0, 0), (9, 9)], [360], 199, [(0, 0), (9, 9)]),
        ([(0, 19)], [360, 360], 2000, [(0, 19)]),
        ([(0, 19)], [360, 360], 1999, [(0, 9), (10, 19)]),
        ([(0, 29)], [0, 0, 1720], 2000, [(0, 19), (20, 24), (25, 29)]),
        ([(0, 39)], [0, 3360, 0, 0], 2000, [(0, 9), (10, 14), (15, 19), (20, 39)]),
        ([(0, 19)], [1460, 0], 2000, [(0, 4), (5, 19)]),  # with the last piece of a large file
        ([(5, 9), (20, 24)], [0, 10**6, 0], 1000, [(5, 24)]),  # nothing of the second file
        ([(0, 9), (1 << 62, (1 << 62) + 1)], [360], 1000, [(0, (1 << 62) + 1)]),
        ([], [360], 1000, []),
    ],
)
def test_parts_cost_what_their_messages_cost(
    positions: list[tuple[int, int]],
    sizes: list[int],
    most: int,
    expected: list[tuple[int, int]],
) -> None:
    """Runs end where a file begins, and within large files; nothing is lost or read twice."""
    every = Positions.union(Positions.between(*run) for run in positions)
    files = [file(10 * n, 10 * n + 9, size) for n, size in enumerate(sizes)]
    for order in (files, files[::-1]):
        found = divide(every, order, most)
        assert cuts(found) == expected
        assert Positions.union(found) == every
        assert sum(map(len, found)) == len(every)


@pytest.mark.parametrize(
    "untold",
    [
        DataFile(5, 100, None, None, 9, None, None),
        DataFile(5, 100, None, 5, None, None, None),
        DataFile(None, 100, None, 5, 9, None, None),
        DataFile(0, 100, None, 5, 9, None, None),
    ],
)
def test_a_file_without_one_of_its_numbers_is_not_cut(untold: DataFile) -> None:
    assert divide(Positions.between(0, 9), [file(0, 4, 10**6), untold], 100) == [
        Positions.between(0, 9)
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([("a", 0, 0)], [("a",)]),
        ([("a", 1000, 0), ("b", 0, 0), ("c", 1, 0)], [("a", "b"), ("c",)]),
        ([("a", 360, 10), ("b", 1, 0)], [("a",), ("b",)]),
        ([("a", 359, 10), ("b", 1, 0)], [("a", "b")]),
        ([("a", 5000, 0), ("b", 5000, 0)], [("a",), ("b",)]),
        ([("b", 400, 0), ("a", 400, 0), ("c", 400, 0)], [("b", "a"), ("c",)]),
    ],
)
def test_files_stay_in_order_and_are_grouped_up_to_a_cost(
    files: list[tuple[str, int, int]], expected: list[tuple[str, ...]]
) -> None:
    assert grouped(files, 1000) == expected


def test_files_are_gathered_to_parts() -> None:
    assert grouped([]) == []
    assert grouped([("a", 1 << 30, 0), ("b", 1, 1)]) == [("a",), ("b",)]


def test_parts_of_an_earlier_offset_have_none_of_the_messages_of_the_present_one() -> None:
    """An offset stands for its own micro-batch, whichever the consumer holds."""
    store = InMemory()
    store.publish("a", "b")
    tables = store.driver.open()._tables
    consumer = Consumer(tables, store.store._subscription(NAME), store.driver.clock)
    begun = consumer.start()
    first = consumer.following(begun, 1)
    second = consumer.following(first, 1)
    assert consumer.parts(begun, first) == [], "it was acknowledged with the lease of the second"
    (part,) = consumer.parts(first, second)
    assert [len(span.span().positions) for span in part.spans] == [1]
    consumer.leave()
