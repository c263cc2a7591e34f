"""What the direct lane alone has to promise, besides what both lanes do."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pubsub_delta.errors import FailedPrecondition, Unavailable
from pubsub_delta.tables.lanes.direct import DirectLane
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.schemas import (
    TOPICS,
)
from tests.lanes.builders import (
    numbers,
    topic,
)


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
