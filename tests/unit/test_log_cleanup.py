"""Delta's protocol: what is older than a checkpoint may go from a log, if the checkpoint stays."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from pubsub_delta.tables.log_cleanup import (
    actions_of_checkpoint,
    clean,
    forget_sums,
    properties,
    seconds_between,
)
from pubsub_delta.tables.removed_files import CHECKPOINTS, RETENTION, is_worth_it, usual

PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
CHECKPOINT = ".checkpoint.parquet"


class Log:
    """A log as Delta writes it on a local disk, with a checkpoint every ten commits."""

    def __init__(self, table: Path, first: int, last: int) -> None:
        self.table, self.directory = table, table / "_delta_log"
        self.directory.mkdir()
        for version in range(first, last + 1):
            self.write(version, ".json", b"{}")
            self.write(version, ".crc", json.dumps({"protocol": PROTOCOL}).encode())
            if version % 10 == 0:
                self.write(version, CHECKPOINT, b"PAR1...PAR1")
        (self.directory / "_last_checkpoint").write_text("{}")
        (self.directory / "_commits").mkdir()

    def write(self, version: int, ending: str, content: bytes) -> None:
        name = f"{version:020d}{ending}"
        (self.directory / name).write_bytes(content)
        (self.directory / f".{name}.crc").write_bytes(b"crc")

    def remove(self, version: int, ending: str) -> None:
        (self.directory / f"{version:020d}{ending}").unlink()

    @property
    def names(self) -> list[str]:
        return sorted(os.listdir(self.directory))

    @property
    def versions(self) -> set[int]:
        return {int(name.lstrip(".")[:20]) for name in self.names if name.lstrip(".")[0] == "0"}


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path, 3, 45)


@pytest.mark.parametrize(
    ("before", "first"), [(0, 3), (9, 3), (10, 10), (19, 10), (40, 40), (45, 40), (1000, 40)]
)
def test_what_is_older_than_the_last_checkpoint_that_old_is_forgotten(
    log: Log, before: int, first: int
) -> None:
    assert clean(log.table, before) == first - 3
    assert log.versions == set(range(first, 46))
    # "if that checkpoint stays", and what else is there
    assert {"_last_checkpoint", "_commits", f"{40:020d}{CHECKPOINT}"} <= set(log.names)
    assert clean(log.table, before) == 0


def test_sums_go_with_their_files(log: Log) -> None:
    clean(log.table, 40)
    assert len(log.names) == 6 * 4 + 2 + 2


def left_alone(log: Log) -> bool:
    before = log.names
    return clean(log.table, 40) == 0 and log.names == before


def test_a_log_with_a_gap_is_left_alone(log: Log) -> None:
    log.remove(43, ".json")
    assert left_alone(log)


def test_a_gap_before_the_checkpoint_is_none(log: Log) -> None:
    """A cleanup that was cut short is completed by the next."""
    log.remove(12, ".json")
    assert clean(log.table, 40) == 36
    assert min(log.versions) == 40


def test_a_checkpoint_that_is_not_whole_does_not_count(log: Log) -> None:
    for content in (b"PAR1...", b"PA", b""):
        log.write(40, CHECKPOINT, content)
        assert left_alone(log)


@pytest.mark.parametrize(
    "name",
    [
        f"{20:020d}.checkpoint.0000000001.0000000002.parquet",
        f"{20:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        f"{10:020d}.{20:020d}.compacted.json",
    ],
)
def test_other_kinds_of_files_are_left_to_delta(log: Log, name: str) -> None:
    (log.directory / name).touch()
    assert left_alone(log)


@pytest.mark.parametrize(
    "checksum",
    [
        b'{"protocol": {"writerFeatures": ["rowTracking", "checkpointProtection"]}}',
        b"{}",
        b"[]",
        b"{",
        b'{"protocol": 5}',
    ],
)
def test_checkpoints_that_are_protected_or_may_be_are_left_alone(log: Log, checksum: bytes) -> None:
    """Of ``checkpointProtection``: commits before a version go together, or not at all."""
    log.write(45, ".crc", checksum)
    assert left_alone(log)


def test_a_log_without_a_checkpoint_or_without_anything_is_left_alone(tmp_path: Path) -> None:
    log = Log(tmp_path, 1, 9)
    assert left_alone(log)
    for name in log.names:
        if name[0] != "_":
            (log.directory / name).unlink()
    assert left_alone(log)


def test_the_earliest_go_first(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left has no gap, whenever it ends."""
    removed: list[str] = []
    monkeypatch.setattr(Path, "unlink", lambda path, **_: removed.append(path.name))
    clean(log.table, 40)
    numbers = [int(name.lstrip(".")[:20]) for name in removed]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(3, 40))


def test_sums_of_what_is_older_than_the_last_checkpoint_are_forgotten_and_nothing_else(
    log: Log,
) -> None:
    """Of each commit its checksum, and the sums of both; the commits stay, and the checkpoints."""
    before = set(log.names)
    assert forget_sums(log.table) == 37 * 3
    gone = {
        name
        for version in range(3, 40)
        for number in [f"{version:020d}"]
        for name in (f"{number}.crc", f".{number}.crc.crc", f".{number}.json.crc")
    }
    assert before - set(log.names) == gone
    assert set(log.names) <= before
    assert forget_sums(log.table) == 0


@pytest.mark.parametrize("content", [b"PAR1...", b""])
def test_sums_stay_where_the_last_checkpoint_is_not_whole(log: Log, content: bytes) -> None:
    log.write(40, CHECKPOINT, content)
    before = log.names
    assert forget_sums(log.table) == 0
    assert log.names == before


def test_sums_stay_in_a_log_without_a_checkpoint(tmp_path: Path) -> None:
    log = Log(tmp_path, 1, 9)
    before = log.names
    assert forget_sums(log.table) == 0
    assert log.names == before


def told(checksums: Iterable[bytes], log: Log) -> list[dict[str, str]]:
    found = []
    for checksum in checksums:
        log.write(45, ".crc", checksum)
        found.append(dict(properties(log.table, 45)))
    return found


def test_properties_are_told_by_the_checksum_or_not_at_all(log: Log) -> None:
    configured = {"metadata": {"configuration": {"a": "1"}}}
    assert told([json.dumps(configured).encode(), b"{}", b"{", b"[]"], log) == [
        {"a": "1"},
        {},
        {},
        {},
    ]
    assert properties(log.table, 46) == {}


@pytest.mark.parametrize(
    ("told", "actions"), [('{"version":40,"size":1204}', 1204), ("{}", 0), ("nonsense", 0)]
)
def test_delta_notes_how_many_actions_its_last_checkpoint_has(
    log: Log, told: str, actions: int
) -> None:
    (log.directory / "_last_checkpoint").write_text(told)
    assert actions_of_checkpoint(log.table) == actions
    (log.directory / "_last_checkpoint").unlink()
    assert actions_of_checkpoint(log.table) == 0


def test_how_old_a_commit_is_its_file_tells(log: Log) -> None:
    for version, time in ((12, 1000), (45, 1600)):
        os.utime(log.directory / f"{version:020d}.json", (0, time))
    assert seconds_between(log.table, 12, 45) == 600
    with pytest.raises(FileNotFoundError):
        seconds_between(log.table, 1, 45)


def test_marks_are_left_out_where_a_checkpoint_has_a_thousand_more_than_commits_stay() -> None:
    own = {RETENTION: "interval 8 days"}
    assert [is_worth_it(own, actions, 1000) for actions in (0, 1999, 2000)] == [False, False, True]
    # "Where a process is killed in between, the next one that comes here changes them back"
    assert is_worth_it({RETENTION: "interval 3661 seconds", CHECKPOINTS: "1"}, 0, 1000)


@pytest.mark.parametrize("strange", ["", "x'); DROP", "interval '5' days"])
def test_only_values_that_need_no_quoting_are_written_back(strange: str) -> None:
    assert usual({RETENTION: strange, CHECKPOINTS: "50"}) == {
        RETENTION: "interval 8 days",
        CHECKPOINTS: "50",
    }
