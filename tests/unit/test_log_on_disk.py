"""Files of a Delta log that are read without Spark, and those that are left to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta.tables.log import read_on_disk

INFO = {"operation": "WRITE", "operationMetrics": {"numOutputRows": "2"}, "userMetadata": None}


def written(place: Path, *actions: object) -> Path:
    """Write a commit as Delta does: letters as they are, and a line for each action."""
    file = place / f"{1:020d}.json"
    lines = (json.dumps(action, ensure_ascii=False) for action in actions)
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def added(**fields: Any) -> dict[str, Any]:
    return {"add": {"path": "a", "baseRowId": 5, "stats": '{"numRecords": 2}', **fields}}


def test_the_actions_of_a_commit_are_told(tmp_path: Path) -> None:
    """Delta's protocol: each line of a commit is an action."""
    info = {**INFO, "userMetadata": "of two\u2028lines", "timestamp": 1}
    file = written(tmp_path, {"commitInfo": info}, {"protocol": {}}, added())
    told = read_on_disk([file])
    assert told is not None
    first, _, last = told
    assert first["commitInfo"] == {**INFO, "userMetadata": "of two\u2028lines"}
    assert (last["add"], last["number"], last["remove"]) == ({"baseRowId": 5}, 2, None)
    assert last["file_name"] == "00000000000000000001.json"


@pytest.mark.parametrize(
    "action",
    [
        5,
        {"add": 5},
        {"commitInfo": []},
        added(stats=None),
        added(stats="{}"),
        added(stats="of two"),
        added(stats='{"numRecords": "2"}'),
        added(baseRowId=None),
        added(baseRowId=5.0),
    ],
)
def test_what_is_not_as_expected_is_left_to_spark(tmp_path: Path, action: object) -> None:
    assert read_on_disk([written(tmp_path, {"commitInfo": INFO}, action)]) is None


@pytest.mark.parametrize("content", [b"{", b"\xff\n", b'{"commitInfo": {"operation": "WRI'])
def test_a_damaged_file_is_left_to_spark(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "1.json"
    file.write_bytes(content)
    assert read_on_disk([file]) is None


def test_a_file_that_is_not_there_is_left_to_spark(tmp_path: Path) -> None:
    assert read_on_disk([written(tmp_path), tmp_path / "2.json"]) is None
