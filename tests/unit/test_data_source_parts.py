"""How a read is cut into parts, each for a task."""

from __future__ import annotations

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
