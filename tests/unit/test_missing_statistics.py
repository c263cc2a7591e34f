"""Files whose statistics the log does not have are searched, read and counted as all others are.

"Delta: they are optional, and other writers leave them out", as an OPTIMIZE by another engine may.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta.errors import DataLoss
from pubsub_delta.operations import find
from pubsub_delta.operations.find import UNACKED
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.tables.lanes.protocol import DataFile
from pubsub_delta.tables.lanes.scans import Window
from tests.model.memory import LAYOUT
from tests.model.memory_lane import MemoryLane
from tests.model.memory_scans import MemoryScans
from tests.unit.builders import DAY, at
from tests.unit.in_memory import NAME, TOPIC, InMemory
from tests.unit.querying import Query

POSITIONS, TIMES = ("position_min", "position_max"), ("publish_time_min", "publish_time_max")
QUERIES = (
    MessageQuery(),
    MessageQuery(earliest=at(DAY)),
    MessageQuery(latest=at(DAY)),
    MessageQuery(before=3),
    MessageQuery(states=UNACKED),
)


@contextmanager
def lacking(fields: tuple[str, ...], place: int) -> Iterator[None]:
    """Let the file of one day have no statistics in some fields."""
    real = MemoryLane.files

    def files(lane: MemoryLane, table: str) -> list[DataFile]:
        found = real(lane, table)
        nothing: dict[str, Any] = dict.fromkeys(fields)
        return [replace(f, **nothing) if n == place else f for n, f in enumerate(found)]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MemoryLane, "files", files)
        yield


def three_days(**fields: Any) -> InMemory:
    """Return a store with two messages of each of three days; the first of each is acked."""
    world = InMemory(**fields)
    for day in range(3):
        world.be_at(day * DAY)
        world.publish(f"{day} acked", f"{day} kept")
    world.ack("0 acked", "1 acked", "2 acked")
    return world


def answers(world: InMemory) -> list[Any]:
    """Return what another process finds in a store, and counts there."""
    store = world.driver.open()
    found: list[Any] = [
        [each.data for each in store.find_messages(name, query).messages()]
        for name in (f"projects/local/topics/{TOPIC}", f"projects/local/subscriptions/{NAME}")
        for query in QUERIES
        if query.states is None or "subscriptions" in name
    ]
    survey = store.survey_ack_state(NAME)
    found += [survey.spans, survey.stored_count, survey.stored_from, survey.unacked_count]
    found.append(world.backlog())
    return [*found, store.preview_seek(NAME, time=at(0)).becomes_unacked]


LACKING = pytest.mark.parametrize(
    ("fields", "place"),
    [
        (fields, place)
        for fields in (POSITIONS, TIMES, ("rows",), (*POSITIONS, *TIMES, "rows"))
        for place in range(3)
    ],
)


@LACKING
def test_what_is_found_and_counted_is_the_same(
    monkeypatch: pytest.MonkeyPatch, fields: tuple[str, ...], place: int
) -> None:
    monkeypatch.setattr(find, "PART", 2)
    world = three_days(retain_acked_messages=True)
    expected = answers(world)
    assert expected[0] == [b"2 kept", b"2 acked", b"1 kept", b"1 acked", b"0 kept", b"0 acked"]
    with lacking(fields, place):
        assert answers(world) == expected


@LACKING
def test_a_survey_of_what_is_in_no_span_leaves_out_that_file_and_no_other(
    fields: tuple[str, ...], place: int
) -> None:
    """What it leaves out it still counts as stored elsewhere."""
    world = three_days()
    told = world.store.survey_ack_state(NAME)
    with lacking(fields, place):
        found = world.store.survey_ack_state(NAME)
    assert found.others == (*told.others[:place], *told.others[place + 1 :])
    assert found.elsewhere_count == told.elsewhere_count == len(told.others)


def test_no_message_is_read_to_see_what_the_statistics_of_its_file_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a deletion a file of new messages without a gap is not opened, whatever others are."""
    world = InMemory()
    first, *_ = world.store.publish(TOPIC, ["old", "older", "oldest"]).message_ids
    world.pull()
    table = LAYOUT.messages(world.store.get_topic(TOPIC).uid)
    world.driver.world.lane.delete(table, [("position", "=", int(first) + 1)])
    world.be_at(DAY)
    world.publish("new", "newer")
    read: list[Window] = []
    fold = MemoryScans.fold

    def noted(scans: MemoryScans, table: str, window: Window, *more: Any) -> Any:
        read.append(window)
        return fold(scans, table, window, *more)

    monkeypatch.setattr(MemoryScans, "fold", noted)
    assert {each.data for each in world.pull()} >= {"new", "newer"}
    assert [each for each in read if each.positions is None] == []


def test_messages_have_the_mean_size_of_those_in_files_that_tell_their_number() -> None:
    """`maxBytesPerTrigger`: an estimate from what the log tells of the files."""
    world = three_days()
    table = world.tables.messages(world.store.get_topic(TOPIC).uid).table
    sizes = [each.size for each in world.tables.lanes.control.files(table)]
    for place in range(3):
        with lacking(("rows",), place):
            told = (sum(sizes) - sizes[place]) // 4
            assert Query(world).consumer.messages_of(2 * told + 2) == 2


@pytest.mark.parametrize("count", [0, 2])
def test_positions_without_their_one_row_are_damaged(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Whichever row was chosen, a message id could be given out twice."""
    world = InMemory()
    read = MemoryLane.read

    def damaged(self: MemoryLane, table: str, *args: Any, **named: Any) -> pa.Table:
        found = read(self, table, *args, **named)
        return pa.concat_tables([found] * count or [found[:0]]) if "positions" in table else found

    monkeypatch.setattr(MemoryLane, "read", damaged)
    with pytest.raises(DataLoss, match=f"has {count} rows instead of one"):
        world.store.publish(TOPIC, ["a"])
