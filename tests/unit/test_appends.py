"""An append is one commit, though its writer is told that it failed.

An object store is played by a local table, to which the commit is made before the error is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from pubsub_delta.tables.lanes.direct import DirectLane, tables
from pubsub_delta.tables.lanes.direct.appends import append_once
from pubsub_delta.tables.lanes.direct.commits import properties_of_commit
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.schemas import POSITIONS

FIRST, OWN, OTHER = "first", "own", "other"
CONFLICT = CommitFailedError("Failed to commit transaction: 0")
"""What ``deltalake`` raises if it finds a commit where it makes its own, also its own one."""
NO_ANSWER = OSError("Generic S3 error: error sending request")


def write(opened: DeltaTable | str, text: str, *, only_next: bool = True) -> None:
    rows = pa.table({"data": [text]})
    properties = properties_of_commit({"userMetadata": text}, None, only_next=only_next)
    write_deltalake(opened, rows, mode="append", commit_properties=properties)


def told(table: Path) -> list[str]:
    """Return what the commits carry, the earliest first."""
    return [each["userMetadata"] for each in reversed(DeltaTable(table).history())]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write(str(tmp_path / "topic"), FIRST)
    return tmp_path / "topic"


def append(table: Path, write: Callable[[DeltaTable], None]) -> int | None:
    return append_once(OpenTables(None), f"delta.`{table}`", write, OWN, None)


@pytest.mark.parametrize("error", [CONFLICT, NO_ANSWER], ids=["a conflict", "no answer"])
def test_a_commit_that_is_told_as_failed_is_found(table: Path, error: Exception) -> None:
    def lost(opened: DeltaTable) -> None:
        write(opened, OWN)
        write(str(table), OTHER)
        raise error

    assert append(table, lost) == 1
    assert told(table) == [FIRST, OWN, OTHER]


def test_a_lost_race_is_run_again_behind_its_winner(table: Path) -> None:
    races = [OTHER]

    def late(opened: DeltaTable) -> None:
        while races:
            write(str(table), races.pop())
        write(opened, OWN)

    assert append(table, late) == 2
    assert told(table) == [FIRST, OTHER, OWN]


def test_a_commit_that_has_not_landed_is_an_error(table: Path) -> None:
    def failing(_: DeltaTable) -> None:
        write(str(table), OTHER)
        raise NO_ANSWER

    with pytest.raises(OSError, match="Generic S3 error"):
        append(table, failing)
    assert told(table) == [FIRST, OTHER]


def test_an_append_is_tried_as_the_next_version_only(table: Path) -> None:
    """``deltalake`` would make it behind a commit that it takes for another's."""
    opened = DeltaTable(table)
    write(str(table), OTHER)
    with pytest.raises(CommitFailedError):
        write(opened, OWN)
    write(opened, OWN, only_next=False)
    assert told(table) == [FIRST, OTHER, OWN]


@pytest.mark.parametrize("lands", [True, False])
def test_a_table_whose_creation_is_told_as_failed_is_there_if_it_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    def lost(*given: Any, **named: Any) -> None:
        if lands:
            write_deltalake(*given, **named)
        raise NO_ANSWER

    monkeypatch.setattr(tables, "write_deltalake", lost)
    lane, name = DirectLane(None, TableLocks(str(tmp_path))), f"delta.`{tmp_path}/positions`"
    row = pa.Table.from_pylist([{"next_position": 0}], schema=POSITIONS.columns)
    if lands:
        lane.create(name, POSITIONS, row)
        assert lane.read(name)["next_position"].to_pylist() == [0]
    else:
        with pytest.raises(OSError, match="Generic S3 error"):
            lane.create(name, POSITIONS, row)
