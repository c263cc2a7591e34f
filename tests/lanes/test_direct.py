"""What the direct lane alone has to promise, besides what both lanes do."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import ColumnProperties, DeltaTable, WriterProperties, write_deltalake

from pubsub_delta.errors import FailedPrecondition, Unavailable
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct import DirectLane, DirectScans
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Match, Merge
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.schemas import TOPICS
from tests.lanes.builders import at, numbers, topic


def test_a_catalog_is_for_spark(tmp_path: Path) -> None:
    lane = DirectLane(None, TableLocks(None))
    with pytest.raises(FailedPrecondition, match="catalog"):
        lane.version("`main`.`topics`")


@pytest.mark.parametrize("name", ["100%25", "a[b", "a^b", "a\\b", "a\nb", "a#b", "a?b"])
def test_a_path_that_deltalake_cannot_open_is_refused(tmp_path: Path, name: str) -> None:
    lane = DirectLane(None, TableLocks(None))
    with pytest.raises(FailedPrecondition, match="deltalake cannot open this path"):
        lane.create(f"delta.`{tmp_path}/{name}/topics`", TOPICS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a b", "ü&", "it's", "a%b", "a``b"])
def test_an_odd_path_is_opened_as_it_is_written(tmp_path: Path, name: str) -> None:
    lane = DirectLane(None, TableLocks(str(tmp_path)))
    table = topic(lane, f"delta.`{tmp_path}/{name}/messages`", numbers(0, 3))
    assert lane.read(table).num_rows == 3
    assert {each.name for each in tmp_path.iterdir()} == {"_locks", name.replace("``", "`")}
    file_url = f"delta.`file:{tmp_path}/{name}/messages`"
    assert lane.read(file_url).num_rows == 3


def test_a_table_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    """Another process has put a copy in its place: an operator restores a backup so."""
    lane = DirectLane(None, TableLocks(None))
    table = topic(lane, f"delta.`{tmp_path}/0`", numbers(0, 2))
    topic(DirectLane(None, TableLocks(None)), f"delta.`{tmp_path}/1`", numbers(5, 1))
    assert lane.read(table)["position"].to_pylist() == [0, 1]
    shutil.rmtree(tmp_path / "0")
    (tmp_path / "1").rename(tmp_path / "0")
    assert lane.read(table)["position"].to_pylist() == [5]


def test_of_many_rows_one_is_added_changed_or_deleted_and_counted(tmp_path: Path) -> None:
    """A registry of thousands of resources is not written anew for one of them."""
    lane, table = DirectLane(None, TableLocks(None)), f"delta.`{tmp_path}/topics`"
    unless_there = Merge([("name", "=", "name")], insert=True)
    of_uid: tuple[Match, ...] = (("name", "=", "name"), ("uid", "=", "uid"))
    update, delete = Merge(of_uid, update=("etag",)), Merge(of_uid, delete=True)
    lane.create(table, TOPICS)
    many = [{"name": f"topic {n}", "uid": f"{n}"} for n in range(1_500)]
    assert lane.merge(table, resources(*many), unless_there) == 1_500
    for change, row, count in (
        (unless_there, {"name": "new", "uid": "new"}, 1),
        (unless_there, {"name": "new", "uid": "other"}, 0),
        (update, {"name": "topic 7", "uid": "7", "etag": "x"}, 1),
        (delete, {"name": "topic 7", "uid": "other"}, 0),
        (delete, {"name": "topic 8", "uid": "8"}, 1),
    ):
        assert lane.merge(table, resources(row), change) == count, (change, row)
    rows = {row["name"]: row["etag"] for row in lane.read(table).to_pylist()}
    assert (len(rows), rows["topic 7"], "topic 8" in rows) == (1_500, "x", False)


def test_a_file_whose_path_is_encoded_in_the_log_is_read(tmp_path: Path) -> None:
    """Delta: paths are URI-encoded, as those of partitions with other characters are."""
    rows = pa.table({"carrier": ["a b", "c%d", "é"], "position": [1, 2, 3]})
    write_deltalake(tmp_path / "made", rows, partition_by=["carrier"])
    read = DirectLane(None, TableLocks(None)).read(f"delta.`{tmp_path}/made`")
    assert read.sort_by("position").select(rows.column_names) == rows


def resources(*rows: dict[str, str]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=TOPICS.columns)


@pytest.mark.parametrize("lacking", [0, 3])
def test_a_file_without_statistics_is_read(tmp_path: Path, lacking: int) -> None:
    """Delta: they are optional, and other writers leave them out. Each message is found alone, the
    first and the last of the topic, too."""
    lane = DirectLane(None, TableLocks(None))
    table = topic(lane, f"delta.`{tmp_path}/messages`", numbers(3 - lacking, 3))
    without = WriterProperties(
        default_column_properties=ColumnProperties(statistics_enabled="NONE")
    )
    opened = DeltaTable(tmp_path / "messages")
    write_deltalake(opened, numbers(lacking, 3), mode="append", writer_properties=without)
    told = sorted(str(each.position_min) for each in lane.files(table))
    assert told == [str(3 - lacking), "None"]
    for run in [(1, 4), *((n, n) for n in range(6))]:
        window = Window(Positions.between(*run), at(hours=-1), at(hours=1))
        assert DirectScans(lane.open_tables).fold(table, window).runs() == [run]


def test_each_commit_of_others_is_read_once_and_none_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read to see that it is whole; a look costs what is new, however long the log is."""
    read: list[int | None] = []
    real = DeltaTable.history

    def history(table: DeltaTable, limit: int | None = None) -> Any:
        read.append(limit)
        return real(table, limit)

    lane, other = (DirectLane(None, TableLocks(str(tmp_path))) for _ in range(2))
    table = topic(lane, f"delta.`{tmp_path}/messages`", numbers(0, 1))
    assert lane.read(table).num_rows == 1
    monkeypatch.setattr(DeltaTable, "history", history)
    for count in range(2, 8):
        with monkeypatch.context() as unnoticed:
            unnoticed.setattr(DeltaTable, "history", real)
            other.append(table, numbers(count, 1), f"other {count}")
        assert lane.read(table).num_rows == count
    assert read == [1] * 6
    read.clear()
    for count in range(8, 12):
        lane.append(table, numbers(count, 1), f"own {count}")
        assert lane.read(table).num_rows == count
    assert read == []


@dataclass
class Busy:
    """A topic, and a lane whose reads of the history are each crossed by a commit of another."""

    lane: DirectLane
    other: DirectLane
    table: str

    def add(self, lane: DirectLane) -> None:
        number = lane.version(self.table) + 1
        lane.append(self.table, numbers(number, 1), f"{number}")

    def cross(
        self, monkeypatch: pytest.MonkeyPatch, is_crossed: Callable[[int | None], bool]
    ) -> None:
        """Have a commit land before each read of so many commits."""
        real = DeltaTable.history

        def crossed(opened: DeltaTable, limit: int | None = None) -> list[dict[str, Any]]:
            with monkeypatch.context() as patched:
                patched.setattr(DeltaTable, "history", real)
                if is_crossed(limit):
                    self.add(self.other)
            commits: list[dict[str, Any]] = real(opened, limit)
            return commits

        monkeypatch.setattr(DeltaTable, "history", crossed)


@pytest.fixture
def busy(tmp_path: Path) -> Busy:
    lane, other = (DirectLane(None, TableLocks(str(tmp_path))) for _ in range(2))
    return Busy(lane, other, topic(lane, f"delta.`{tmp_path}/messages`"))


def test_commits_are_numbered_rightly_while_others_commit(
    busy: Busy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``deltalake`` numbers what it finds in the log from the version that it has opened."""
    for _ in range(3):
        busy.add(busy.lane)
    busy.cross(monkeypatch, lambda _: busy.other.version(busy.table) < 5)
    told = busy.lane.history(busy.table, 3)
    assert [(each.version, each.user_metadata) for each in told[:3]] == [
        (number, f"{number}") for number in range(5, 2, -1)
    ]


def test_a_long_history_is_read_though_others_commit_all_the_time(
    busy: Busy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading thousands of commits takes seconds, in which a busy topic gets more of them."""
    for _ in range(30):
        busy.add(busy.lane)
    busy.cross(monkeypatch, lambda limit: limit != 1)
    for limit in (None, 25):
        told = busy.lane.history(busy.table, limit)
        publishes = [each for each in told if each.version]
        assert [each.user_metadata for each in publishes] == [f"{e.version}" for e in publishes]
        assert len(told) >= (limit or 31)
    assert told[0].version == 34


def test_a_full_disk_is_told() -> None:
    from pubsub_delta.tables.lanes.direct.errors import translating_errors

    with (
        pytest.raises(Unavailable, match="no space is left"),
        translating_errors("delta.`/x`"),
    ):
        raise OSError("Generic LocalFileSystem error: No space left on device (os error 28)")


def test_a_table_that_is_dropped_is_closed(tmp_path: Path) -> None:
    """What a process holds in memory of a table ends with it: a snapshot a minute adds nothing."""
    lane = DirectLane(None, TableLocks(None))
    tables = [topic(lane, f"delta.`{tmp_path}/{n}`", numbers(n, 1)) for n in range(5)]
    assert [lane.read(table).num_rows for table in tables] == [1] * 5
    before = _open_tables(tmp_path)
    assert len(before) == 5
    for table in tables[1:]:
        lane.drop(table)
    assert _open_tables(tmp_path) == before[:1]


def _open_tables(directory: Path) -> list[str]:
    gc.collect()
    opened = (each.table_uri for each in gc.get_objects() if isinstance(each, DeltaTable))
    return sorted({uri.rstrip("/") for uri in opened if str(directory) in uri})
