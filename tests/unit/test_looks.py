"""Looks that are made at the same time, and threads that take turns at one ack state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.ack_state import AckStates, AckStateTables
from pubsub_delta.tables.lanes.direct import DirectLane, open_tables, tables
from pubsub_delta.tables.lanes.direct.merging import merged
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Conflict, LoggedCommit, Match, Merge
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.schemas import POSITIONS, SNAPSHOTS
from tests.model.memory_lane import MemoryLane
from tests.unit.in_memory import NAME, InMemory

UID = "1" * 32


@pytest.fixture
def store() -> InMemory:
    """A subscription whose last message was absorbed by another process."""
    store = InMemory()
    store.publish("early")
    store.pull()
    store.publish("late")
    assert [each.data for each in store.driver.pull(store.driver.open(), NAME, 1)] == ["late"]
    return store


def look_too_early(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the first looks at the topic be from before its last commit."""
    version, history, looks = MemoryLane.version, MemoryLane.history, count()

    def early(lane: MemoryLane, table: str) -> int:
        newest = version(lane, table)
        return newest - 1 if "/messages/" in table and next(looks) < times else newest

    def up_to(
        lane: MemoryLane, table: str, limit: int | None = None, newest: int | None = None
    ) -> list[LoggedCommit]:
        told = history(lane, table)
        return [each for each in told if newest is None or each.version <= newest][:limit]

    monkeypatch.setattr(MemoryLane, "version", early)
    monkeypatch.setattr(MemoryLane, "history", up_to)


def test_a_topic_that_was_looked_at_before_the_ack_state_is_looked_at_again(
    store: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ack state tells of commits that a look at the same time may not have seen."""
    look_too_early(monkeypatch, 1)
    assert store.driver.pull(store.driver.open(), NAME, 1) == []


def test_a_seek_is_noted_after_every_commit_that_the_ack_state_has_seen(
    store: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_too_early(monkeypatch, 1)
    other = store.driver.open()
    before = _state(store).after_version
    other.seek(NAME, time=store.now)
    (noted,) = _state(store).seeks
    assert noted.at_version >= before


def _state(store: InMemory) -> AckState:
    uid = store.store.get_subscription(NAME).uid
    return store.tables.ack_states.read(uid)


@pytest.fixture
def both(tmp_path: Path) -> list[AckStateTables]:
    """The ack states of a store as two processes have them."""
    lanes = [DirectLane(None, TableLocks(None)) for _ in range(2)]
    return [AckStateTables(lane, layout_of(str(tmp_path)).ack_state) for lane in lanes]


def counted(state: AckState) -> tuple[AckState, None]:
    return replace(state, next_lease_id=state.next_lease_id + 1), None


def test_a_look_where_nothing_is_new_lists_the_log_and_no_more(
    both: list[AckStateTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``update_incremental`` asks for a checkpoint besides, which is another request."""
    AckStates(both[0], new_ids()).create(UID, AckState(0))
    stored = both[1].read(UID)
    monkeypatch.setattr(DeltaTable, "update_incremental", None)
    assert both[1].read(UID) == stored


def named(name: str, etag: str) -> pa.Table:
    return pa.Table.from_pylist([{"name": name, "etag": etag}], schema=SNAPSHOTS.columns)


def test_in_object_storage_a_row_is_inserted_as_of_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 0027: a look is a request; the commit is a Conflict if others have written."""
    monkeypatch.setattr(tables, "is_local", lambda _: False)
    lane, other = (DirectLane(None, TableLocks(None)) for _ in range(2))
    table = f"delta.`{tmp_path}/snapshots`"
    same: list[Match] = [("name", "=", "name")]
    unless_taken, freed = Merge(same, insert=True), Merge(same, delete=True)
    lane.create(table, SNAPSHOTS)
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "load_as_version", None)
        assert lane.merge(table, named("a", "1"), unless_taken) == 1
    assert other.merge(table, named("a", "2"), freed) == 1
    assert lane.merge(table, named("a", "3"), unless_taken) == 1, "the name is free again"
    with pytest.raises(Conflict):
        other.merge(table, named("a", "4"), unless_taken)
    rows = other.read(table, columns=["name", "etag"]).to_pylist()
    assert rows == [{"name": "a", "etag": "3"}]
    assert other.merge(table, named("a", "4"), unless_taken) == 0
    assert other.merge(table, named("b", "5"), unless_taken) == 1


def new_ids() -> Callable[[], str]:
    return map(str, count()).__next__


def test_threads_take_turns_at_an_ack_state(both: list[AckStateTables]) -> None:
    """Where there is no lock, as in object storage, they would lose races to each other."""
    states = AckStates(both[0], new_ids())
    states.create(UID, AckState(0))
    begun, done = threading.Event(), []

    def slow(state: AckState) -> tuple[AckState, None]:
        assert begun.wait(10)
        second.join(0.2)  # it would have come through by now, had it not to wait
        done.append("first")
        return counted(state)

    def quick(state: AckState) -> tuple[AckState, None]:
        done.append("second")
        return counted(state)

    def other() -> None:
        begun.set()
        states.change(UID, quick)

    second = threading.Thread(target=other)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(states.change, UID, slow)
        second.start()
        first.result(10)
    second.join(10)
    assert done == ["first", "second"]
    assert both[1].read(UID).revision == 3


def test_where_others_write_too_a_state_is_read_before_it_is_written(
    both: list[AckStateTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A swap that is bound to lose costs the put of a file and a look."""
    one, other = (AckStates(tables, new_ids()) for tables in both)
    one.create(UID, AckState(0))
    other.change(UID, counted)
    one.change(UID, counted)  # it was written in between, which costs a try
    tries: list[bool] = []
    real = both[0].replace

    def noted(*arguments: object) -> bool:
        tries.append(False)
        tries[-1] = real(*arguments)  # type: ignore[arg-type]
        return tries[-1]

    monkeypatch.setattr(both[0], "replace", noted)
    for _ in range(3):
        other.change(UID, counted)
        one.change(UID, counted)
    assert tries == [True] * 3


def test_where_nobody_else_writes_any_more_nothing_is_read(
    both: list[AckStateTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (AckStates(tables, new_ids()) for tables in both)
    one.create(UID, AckState(0))
    other.change(UID, counted)
    one.change(UID, counted)
    one.change(UID, counted)  # reads, and sees that nobody else has written
    monkeypatch.setattr(both[0], "read", None)
    one.change(UID, counted)
    assert both[1].read(UID).revision == 5


def test_a_snapshot_holds_what_others_have_made_of_the_ack_state() -> None:
    store = InMemory(ack_deadline_seconds=600)
    store.publish("a", "b", "c")
    other = store.driver.open()
    store.pull(1)
    (second,) = store.driver.pull(other, NAME, 1)
    store.pull(1)  # it was written in between: so this process reads first from now on
    other.acknowledge(NAME, [second.ack_id])
    store.store.create_snapshot("before", NAME)
    store.store.seek(NAME, snapshot="before")
    assert store.backlog() == {"a": "available", "c": "available"}


OLD = pa.table({"name": ["a", "b", None], "time": [1, 2, None], "etag": ["1", "2", "3"]})


@pytest.mark.parametrize(
    ("on", "new", "update", "left"),
    [
        ([("name", "=", "name")], {"name": "b", "etag": "4"}, ("etag",), ["1", "3", "4"]),
        ([("name", "=", "name")], {"name": None, "etag": "4"}, ("etag",), None),
        ([("time", ">", "time")], {"time": 1, "etag": "4"}, ("etag",), ["1", "3", "4"]),
        ([("time", "<", "time")], {"time": 2, "etag": "4"}, ("etag",), ["2", "3", "4"]),
        ([("time", "is null", None)], {"etag": "4"}, ("etag",), ["1", "2", "4"]),
        (
            [("time", "=", "time"), ("name", "is null", None)],
            {"time": 1, "etag": "4"},
            ("etag",),
            None,
        ),
    ],
)
def test_rows_are_merged_in_memory_as_sql_says(
    on: list[Match], new: dict[str, object], update: tuple[str, ...], left: list[str] | None
) -> None:
    """SQL: a comparison with null holds for no row."""
    types = {"name": pa.string(), "time": pa.int64(), "etag": pa.string()}
    rows = pa.table({name: pa.array([value], types[name]) for name, value in new.items()})
    found, changed = merged(OLD, rows, Merge(on=on, update=update))
    assert changed == (left is not None)
    assert found["etag"].to_pylist() == (left or ["1", "2", "3"])


def test_a_table_of_many_rows_is_not_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registry of many thousand rows would be copied with each change of one."""
    lane = DirectLane(None, TableLocks(str(tmp_path)))
    table = f"delta.`{tmp_path / 'many'}`"
    columns = POSITIONS.columns
    rows = [{"next_position": number, "reservation_id": f"{number}"} for number in range(1001)]
    lane.create(table, POSITIONS, pa.Table.from_pylist(rows, schema=columns))
    kept: list[str] = []
    monkeypatch.setattr(open_tables.OpenTables, "cache_rows", lambda *_: kept.append(table))
    change = pa.table({"next_position": [7], "reservation_id": ["changed"]})
    merge = Merge(on=[("next_position", "=", "next_position")], update=("reservation_id",))
    assert lane.merge(table, change, merge) == 1
    assert kept == []
    assert lane.read(table, [("reservation_id", "=", "changed")])["next_position"][0].as_py() == 7
    assert lane.read(table).num_rows == 1001
