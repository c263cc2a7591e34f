"""How a read is cut into parts, each for a task."""

from __future__ import annotations

from pubsub_delta.datasource.partitions import divide, grouped
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.protocol import DataFile


def file(first: int, last: int, size: int) -> DataFile:
    return DataFile(last - first + 1, size, None, first, last, None, None)


def test_positions_are_cut_where_files_begin_and_in_large_ones() -> None:
    files = [file(0, 9, 360), file(10, 19, 360), file(20, 59, 1440)]
    found = divide(Positions.between(5, 59), files, 1000)
    assert [each.runs() for each in found] == [[(5, 9)], [(10, 19)], *[
        [(start, start + 9)] for start in (20, 30, 40, 50)]]  # fmt: skip
    assert Positions.union(found) == Positions.between(5, 59)


def test_positions_are_not_cut_where_the_log_does_not_tell_of_files() -> None:
    every = Positions.between(5, 59)
    untold = DataFile(None, 1440, None, None, None, None, None)
    assert divide(every, [untold, file(0, 59, 1 << 30)]) == [every]
    assert divide(Positions(), [untold]) == []


def test_files_are_gathered_to_parts() -> None:
    assert grouped([]) == []
    assert grouped([("a", 1 << 30, 0), ("b", 1, 1)]) == [("a",), ("b",)]
