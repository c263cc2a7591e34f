"""Files of a Delta log that are read without Spark, and those that are left to it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta.tables.log_on_disk import actions, infos, newest

INFO = {"operation": "WRITE", "operationMetrics": {"numOutputRows": "2"}, "userMetadata": None}
LATEST = 10**6 + 7


def written(table: Path, *actions: object, version: int = 1) -> Path:
    """Write a commit as Delta does: letters as they are, and a line for each action."""
    file = table / "_delta_log" / f"{version:020d}.json"
    file.parent.mkdir(exist_ok=True)
    lines = (json.dumps(action, ensure_ascii=False) for action in actions)
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def added(**fields: Any) -> dict[str, Any]:
    return {"add": {"path": "a", "baseRowId": 5, "stats": '{"numRecords": 2}', **fields}}


def version_of_newest(table: Path, seen: int | None = None) -> int | None:
    found = newest(table, seen)
    return None if found is None else found.version


@pytest.mark.parametrize("seen", [None, 3, 5, 8, LATEST])
def test_the_newest_commit_is_found_from_the_one_that_was_seen_last(
    tmp_path: Path, seen: int | None
) -> None:
    """Commits of long ago are forgotten, perhaps the one that was seen last among them."""
    for version in range(4, 9):
        written(tmp_path, {"commitInfo": INFO}, version=version)
    for other in ("_last_checkpoint", f"{9:020d}.crc", f"{12:020d}.checkpoint.parquet", "9.json"):
        (tmp_path / "_delta_log" / other).touch()
    assert version_of_newest(tmp_path, seen) == 8
    written(tmp_path, {"commitInfo": INFO}, version=9)
    assert version_of_newest(tmp_path, seen) == 9


@pytest.mark.parametrize("seen", [None, 1])
def test_a_commit_that_is_missing_in_between_is_left_to_spark(
    tmp_path: Path, seen: int | None
) -> None:
    """Delta tells that the log is damaged; nothing may look as if it were the newest one."""
    for version in (0, 1, 4, 5):
        written(tmp_path, version=version)
    assert version_of_newest(tmp_path, seen) == (5 if seen is None else None)
    for version in (2, 3):
        written(tmp_path, version=version)
    assert version_of_newest(tmp_path, seen) == 5


def test_another_file_of_the_same_version_is_another_commit(tmp_path: Path) -> None:
    """The table was made anew, or put back from a copy, or its file is damaged."""
    first = written(tmp_path, {"commitInfo": INFO})
    found = newest(tmp_path, 1)
    assert found is not None
    assert found == newest(tmp_path, None)
    os.utime(first, ns=(0, 5))
    seen = [found, newest(tmp_path, 1)]
    first.write_text("{}")
    os.utime(first, ns=(0, 5))
    seen.append(newest(tmp_path, 1))
    assert len(set(seen)) == 3


def test_without_a_log_there_is_no_newest_commit(tmp_path: Path) -> None:
    assert newest(tmp_path, None) is newest(tmp_path, 3) is None
    (tmp_path / "_delta_log").mkdir()
    assert newest(tmp_path, None) is newest(tmp_path, 3) is None


def test_of_old_commits_those_are_told_that_are_still_there(tmp_path: Path) -> None:
    assert infos(tmp_path, [2, 1]) is None
    for version in (2, 3, 4):
        info = {**INFO, "userMetadata": str(version), "timestamp": 1}
        written(tmp_path, {"commitInfo": info}, added(), version=version)
    for versions in ([4, 3, 2], [4, 3, 2, 1, 0]):
        found = infos(tmp_path, versions)
        assert found == [{**INFO, "userMetadata": each} for each in "432"]
    (tmp_path / "_delta_log" / f"{3:020d}.json").unlink()
    assert infos(tmp_path, [4, 3, 2]) is None


def test_only_what_a_commit_was_is_read_of_it(tmp_path: Path) -> None:
    """Delta writes it first; it need not."""
    file = written(tmp_path, {"protocol": {}}, {"commitInfo": INFO})
    with file.open("a") as more:
        more.write("{")
    assert infos(tmp_path, [1]) == [INFO]
    assert actions(tmp_path, [1]) is None


@pytest.mark.parametrize(
    "content", [b"", b"5", b'{"commitInfo": 5}', b'{"add": {}}', b"\xff", b"{"]
)
def test_a_commit_that_does_not_say_what_it_was_is_left_to_spark(
    tmp_path: Path, content: bytes
) -> None:
    written(tmp_path).write_bytes(content)
    assert infos(tmp_path, [1]) is None


def test_the_actions_of_a_commit_are_told(tmp_path: Path) -> None:
    """Delta's protocol: each line of a commit is an action."""
    info = {**INFO, "userMetadata": "of two\u2028lines", "timestamp": 1}
    written(tmp_path, {"commitInfo": info}, {"protocol": {}}, added())
    told = actions(tmp_path, [1])
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
    written(tmp_path, {"commitInfo": INFO}, action)
    assert actions(tmp_path, [1]) is None


@pytest.mark.parametrize("content", [b"{", b"\xff\n", b'{"commitInfo": {"operation": "WRI'])
def test_a_damaged_file_is_left_to_spark(tmp_path: Path, content: bytes) -> None:
    written(tmp_path).write_bytes(content)
    assert actions(tmp_path, [1]) is None


def test_a_file_that_is_not_there_is_left_to_spark(tmp_path: Path) -> None:
    written(tmp_path)
    assert actions(tmp_path, [1]) == []
    assert actions(tmp_path, [1, 2]) is None
