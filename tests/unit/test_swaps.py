"""The row of a table is replaced by who has read it last, and by nobody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.ack_state import AckStates, AckStateTables, StoredAckState
from pubsub_delta.tables.lanes.direct import DirectLane
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.schemas import TOPICS

UID = "1" * 32
FIRST = StoredAckState(AckState(0), 1, ("first",))


def following(stored: StoredAckState, commit_id: str) -> StoredAckState:
    state = replace(stored.state, next_lease_id=stored.state.next_lease_id + 1)
    return StoredAckState(state, stored.revision + 1, (commit_id, *stored.recent_commits))


def swapped(tables: AckStateTables, new: StoredAckState, expected: StoredAckState) -> bool:
    try:
        return tables.replace(UID, new, expected)
    except Conflict:
        return False


@pytest.fixture
def lanes(tmp_path: Path) -> tuple[DirectLane, DirectLane]:
    """Two processes' lanes."""
    first, second = (DirectLane(None, TableLocks(str(tmp_path))) for _ in range(2))
    return first, second


@pytest.fixture
def both(lanes: tuple[DirectLane, DirectLane], tmp_path: Path) -> list[AckStateTables]:
    tables = [AckStateTables(lane, layout_of(str(tmp_path)).ack_state) for lane in lanes]
    tables[0].create(UID, FIRST)
    return tables


def test_of_two_who_read_a_state_one_replaces_it(both: list[AckStateTables]) -> None:
    read = [tables.read(UID) for tables in both]
    assert swapped(both[0], following(FIRST, "a"), read[0])
    assert not swapped(both[1], following(FIRST, "b"), read[1])
    assert both[1].read(UID).commit_id == "a"


def test_what_another_thread_has_written_is_not_written_over(both: list[AckStateTables]) -> None:
    """They share the open table, which is of a later version then than what was read."""
    stored = both[0].read(UID)
    assert swapped(both[0], following(stored, "a"), stored)
    assert not swapped(both[0], following(stored, "b"), stored)
    assert both[0].read(UID).commit_id == "a"


def test_a_swap_is_one_commit_and_the_next_one_needs_no_look(both: list[AckStateTables]) -> None:
    stored = both[0].read(UID)
    for number in range(3):
        new = following(stored, f"{number}")
        assert both[0].replace(UID, new, stored)
        assert stored.version == number
        stored = replace(new, version=number + 1)
    assert both[1].read(UID) == stored
    assert both[1].read(UID).version == 3


def test_what_a_process_wrote_last_is_written_over_without_a_read(
    both: list[AckStateTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read is some requests of an object store."""
    ids = map(str, range(100))
    states = AckStates(both[0], lambda: next(ids))
    states.create("2" * 32, AckState(0))
    reads: list[str] = []
    read = both[0].read

    def counted(uid: str) -> StoredAckState:
        reads.append(uid)
        return read(uid)

    monkeypatch.setattr(both[0], "read", counted)
    for _ in range(3):
        states.change("2" * 32, lambda s: (replace(s, next_lease_id=s.next_lease_id + 1), None))
    assert reads == []
    assert both[1].read("2" * 32).revision == 4


def test_a_commit_that_leaves_the_row_as_it_was_is_a_lost_race(
    both: list[AckStateTables], tmp_path: Path
) -> None:
    """A VACUUM writes commits, too: who comes after it reads again."""
    assert swapped(both[0], following(FIRST, "a"), both[0].read(UID))
    stored = both[0].read(UID)
    DeltaTable(f"{tmp_path}/ack_state/{UID}").vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False
    )
    assert not swapped(both[0], following(stored, "b"), stored)
    again = both[0].read(UID)
    assert again == stored
    assert again.version != stored.version
    assert swapped(both[0], following(again, "c"), again)


def test_a_restored_state_is_not_written_over(both: list[AckStateTables], tmp_path: Path) -> None:
    stored = both[0].read(UID)
    second = following(stored, "a")
    assert both[0].replace(UID, second, stored)
    DeltaTable(f"{tmp_path}/ack_state/{UID}").restore(0)
    remembered = replace(second, version=1)
    assert not swapped(both[0], following(second, "b"), remembered)
    assert both[0].read(UID) == FIRST


def test_a_table_that_is_written_for_long_is_opened_again(
    both: list[AckStateTables], lanes: tuple[DirectLane, DirectLane]
) -> None:
    """A handle slows down with every commit that it has seen."""
    stored = both[0].read(UID)
    for number in range(25):
        new = following(stored, f"{number}")
        assert both[0].replace(UID, new, stored)
        stored = replace(new, version=number + 1)
    (handle,) = lanes[0].open_tables._by_table.values()
    assert handle.opened_at > 0
    assert both[1].read(UID) == stored


def test_a_row_is_deleted_once(lanes: tuple[DirectLane, DirectLane], tmp_path: Path) -> None:
    table, lane = layout_of(str(tmp_path)).topics, lanes[0]
    row = pa.Table.from_pylist([{"uid": "1", "name": "n"}], schema=TOPICS.columns)
    lane.create(table, TOPICS)
    assert lane.append(table, row, "first")
    assert not lane.delete(table, [("uid", "=", "2")], "a")
    assert lane.delete(table, [("uid", "=", "1")], "b")
    assert not lanes[1].delete(table, [("uid", "=", "1")], "c")


def test_a_deletion_that_met_itself_has_landed(
    lanes: tuple[DirectLane, DirectLane], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object store's client sends again what was not answered, and meets its own commit."""
    table, lane = layout_of(str(tmp_path)).topics, lanes[0]
    rows = pa.Table.from_pylist([{"uid": each} for each in "123"], schema=TOPICS.columns)
    lane.create(table, TOPICS)
    assert lane.append(table, rows, "first")
    delete = DeltaTable.delete

    def meets_itself(opened: DeltaTable, *args: Any, **named: Any) -> Any:
        delete(opened, *args, **named)
        raise CommitFailedError("a concurrent transaction deleted the same data")

    monkeypatch.setattr(DeltaTable, "delete", meets_itself)
    assert lane.delete(table, [("uid", "<", "3")], "a", lane.version(table)) == 2
    with pytest.raises(Conflict):  # without a text nobody knows whose commit it is
        lane.delete(table, [("uid", "=", "3")])
