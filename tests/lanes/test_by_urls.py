"""The direct lane in object storage, which is played by directories that are opened by their URLs.

So its ways of reading, and what it asks for how often, are seen without a server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from pubsub_delta.errors import FailedPrecondition, Unavailable
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct import DirectLane, DirectScans, open_tables, table_snapshots
from pubsub_delta.tables.lanes.direct.commits import newest_version
from pubsub_delta.tables.lanes.direct.files import WrittenFile
from pubsub_delta.tables.lanes.direct.storage import address_of
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.schemas import MESSAGES, POSITIONS
from tests.lanes.builders import CAS, at, column, next_position, numbers, topic

MODULES = ("files", "history", "open_tables", "storage", "table_snapshots", "tables")
EVERYTHING = Window()
COLUMNS = ["position", "data", "publish_date"]
Opened = Callable[[Mapping[str, str] | None], DirectLane]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Opened:
    """Return what opens a lane that takes every path for a URL."""
    for name in MODULES:
        module = import_module(f"pubsub_delta.tables.lanes.direct.{name}")
        monkeypatch.setattr(module, "address_of", lambda table: f"file://{address_of(table)}")
    return lambda options: DirectLane(options, TableLocks(None))


@pytest.fixture
def lane(opened: Opened) -> DirectLane:
    return opened(None)


@pytest.fixture
def table(lane: DirectLane, tmp_path: Path) -> str:
    """A topic of three files: positions 0 to 9, 10 to 19 and 100 to 104, each a day later."""
    return topic(
        lane,
        f"delta.`{tmp_path / 'topic'}`",
        numbers(0, 10),
        numbers(10, 10, time=at(days=1)),
        numbers(100, 5, time=at(days=2)),
    )


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is filled with a word for each time that a log is listed."""
    found: list[str] = []
    by_path = DeltaTable.__init__

    def listed(table: DeltaTable) -> int | None:
        found.append("listed")
        return newest_version(table)

    def opening(self: DeltaTable, *given: Any, **named: Any) -> None:
        found.append("opened")
        by_path(self, *given, **named)

    monkeypatch.setattr(open_tables, "newest_version", listed)
    monkeypatch.setattr(DeltaTable, "__init__", opening)
    return found


@pytest.mark.parametrize("whole", [True, False], ids=["small files", "large files"])
@pytest.mark.parametrize("slice_", [1, 2**20], ids=["by row groups", "by files"])
def test_scans_read_the_same_messages_as_from_a_disk(
    lane: DirectLane, table: str, monkeypatch: pytest.MonkeyPatch, whole: bool, slice_: int
) -> None:
    """A small file is read by one request, and of a large one the parts that are needed."""
    monkeypatch.setattr(table_snapshots, "_MAX_WHOLE_FILE", 2**20 if whole else 0)
    monkeypatch.setattr("pubsub_delta.tables.lanes.direct.scans._SLICE", slice_)
    scans = DirectScans(lane.open_tables)
    for window, expected in (
        (EVERYTHING, [*range(20), *range(100, 105)]),
        (Window(Positions.between(8, 101)), [*range(8, 20), 100, 101]),
        (Window(None, at(days=1), None), [*range(10, 20), *range(100, 105)]),
        (Window(Positions.of([3]), at(days=1), None), []),
    ):
        found = scans.rows(table, window, COLUMNS)
        assert column(found, "position") == expected
        assert column(found, "data") == [b"%d" % number for number in expected]
        parts = list(scans.batches(table, window, COLUMNS))
        assert pa.Table.from_batches(parts, found.schema) == found
        assert list(scans.fold(table, window)) == expected
        paths = [path for path, _, _ in scans.files(table, 3, window)]
        of_files = pa.Table.from_batches(
            scans.of_files(table, 3, paths, window, COLUMNS), found.schema
        )
        assert of_files.sort_by("position") == found


def test_as_many_files_are_read_as_there_are(lane: DirectLane, tmp_path: Path) -> None:
    """Some are read at the same time, and their rows stay in the order of the files."""
    for count in (0, 1, 2, 3, 20):
        table = topic(
            lane, f"delta.`{tmp_path / str(count)}`", *(numbers(n, 1) for n in range(count))
        )
        assert sorted(column(lane.read(table), "position")) == list(range(count))


@pytest.mark.parametrize("options", [{"timeout": "77s"}, {}, None])
def test_files_are_opened_with_the_options_of_the_store(
    opened: Opened,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
    options: Mapping[str, str] | None,
) -> None:
    """Without its keys and endpoints a bucket cannot be read."""
    told: list[Any] = []

    def noted(address: str, options: Any = None, sizes: Any = None) -> DeltaStorageHandler:
        told.append(options)
        return DeltaStorageHandler(address, options, sizes)

    for module in ("files", "table_snapshots"):
        monkeypatch.setattr(f"pubsub_delta.tables.lanes.direct.{module}.DeltaStorageHandler", noted)
    lane = opened(options)
    assert lane.read(table).num_rows == 25
    assert lane.read(table, version=1).num_rows == 10
    lane.write_file(table, "new.parquet", MESSAGES.columns, [numbers(0, 1)])
    assert told == [options or None] * 3


@pytest.mark.parametrize("slice_", [1, 2**20], ids=["by row groups", "by files"])
def test_a_file_of_several_row_groups_is_added_and_read_in_part(
    lane: DirectLane, table: str, monkeypatch: pytest.MonkeyPatch, slice_: int
) -> None:
    monkeypatch.setattr("pubsub_delta.tables.lanes.direct.files._GROUP", 4)
    monkeypatch.setattr("pubsub_delta.tables.lanes.direct.scans._SLICE", slice_)
    path = "publish_date=2025-01-04/new.parquet"
    parts = [
        numbers(first, count, time=at(days=3)).drop_columns("publish_date")
        for first, count in ((200, 3), (203, 1), (204, 5), (209, 2))
    ]
    size = lane.write_file(table, path, parts[0].schema, parts)
    assert lane.add_files(table, [WrittenFile(path, size, 200, 210, at(days=3))], "added")
    scans = DirectScans(lane.open_tables)
    for asked in ([*range(200, 211)], [204], [203, 208, 209], [210]):
        for window in (Window(Positions.of(asked)), Window(Positions.of(asked), at(days=3))):
            assert column(scans.rows(table, window, ["data"]), "data") == [b"%d" % n for n in asked]
            read = pa.Table.from_batches(scans.batches(table, window, COLUMNS))
            assert column(read, "position") == asked


def test_a_table_that_was_looked_at_ahead_is_not_looked_at_again_once(
    lane: DirectLane, table: str, looks: list[str]
) -> None:
    """A look is a request, which takes some milliseconds; the next question needs a new one."""
    with lane.prefetching(table):
        assert lane.version(table) == 3
        assert looks == ["listed"]
        assert lane.read(table).num_rows == 25
        assert looks == ["listed"] * 2
    with lane.prefetching(table):
        assert lane.read(table).num_rows == 25
        assert looks == ["listed"] * 3
    assert lane.version(table) == 3
    assert looks == ["listed"] * 4


def test_a_look_ahead_sees_what_others_have_written(
    lane: DirectLane, opened: Opened, table: str
) -> None:
    other = opened(None)
    other.append(table, numbers(300, 1), "another")
    with lane.prefetching(table):
        assert lane.read(table).num_rows == 26


def test_what_was_looked_at_ahead_and_not_used_is_looked_at_later(
    lane: DirectLane, opened: Opened, table: str
) -> None:
    with lane.prefetching(table):
        pass
    opened(None).append(table, numbers(300, 1), "another")
    assert lane.version(table) == 4


def test_a_look_ahead_in_another_one_is_the_same_look(
    lane: DirectLane, table: str, looks: list[str]
) -> None:
    with lane.prefetching(table):
        with lane.prefetching(table):
            assert lane.version(table) == 3
        assert lane.version(table) == 3
    assert looks == ["listed"] * 2


def test_what_fails_ahead_fails_where_it_is_used(lane: DirectLane, tmp_path: Path) -> None:
    missing = f"delta.`{tmp_path / 'none'}`"
    with lane.prefetching(missing):
        pass
    with lane.prefetching(missing), pytest.raises(TableMissing):
        lane.version(missing)


def test_tables_are_looked_at_at_the_same_time(
    lane: DirectLane, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = topic(lane, f"delta.`{tmp_path / 'other'}`", numbers(0, 1))
    both = threading.Barrier(2, timeout=10)

    def listed(opened: DeltaTable) -> int | None:
        both.wait()
        return newest_version(opened)

    monkeypatch.setattr(open_tables, "newest_version", listed)
    with lane.prefetching(table, other):
        assert (lane.version(table), lane.version(other)) == (3, 1)


def test_a_table_is_opened_again_only_after_many_commits(
    lane: DirectLane, looks: list[str], tmp_path: Path
) -> None:
    """There opening a table takes requests for every commit since a checkpoint."""
    table = f"delta.`{tmp_path / 'positions'}`"
    lane.create(table, POSITIONS, next_position(0))
    for value in range(30):
        assert lane.merge(table, next_position(value + 1, was=value), CAS) == 1
    assert looks.count("opened") <= 2


def test_the_tables_that_were_used_last_stay_open(
    lane: DirectLane, looks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of thousands of subscriptions would hold the files of all in memory."""
    monkeypatch.setattr(open_tables, "_OPEN_AT_ONCE", 2)
    a, b, c = (topic(lane, f"delta.`{tmp_path / name}`", numbers(0, 1)) for name in "abc")
    for name in (a, b, a, c):  # b was not used for longest
        lane.version(name)
    looks.clear()
    assert (lane.version(a), lane.version(c)) == (1, 1)
    assert looks.count("opened") == 0
    assert lane.version(b) == 1
    assert looks.count("opened") == 1


REASONS = pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("client error (Connect): tcp connect error", Unavailable),
        ("invalid peer certificate: UnknownIssuer", Unavailable),
        ("Server returned non-2xx status code: 503 Service Unavailable", Unavailable),
        ("something else", None),
    ],
)


@REASONS
def test_a_table_that_cannot_be_opened_tells_why(
    lane: DirectLane, monkeypatch: pytest.MonkeyPatch, text: str, expected: type[Exception] | None
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(text)

    monkeypatch.setattr(open_tables, "DeltaTable", fail)
    with pytest.raises(
        expected or OSError, match=r"connect|certificate|cannot do it now|something else"
    ):
        lane.version("delta.`s3a://bucket/topic`")


@REASONS
def test_a_version_that_cannot_be_asked_for_is_not_told_as_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: type[Exception] | None
) -> None:
    """FailedPrecondition: a repetition fails as well. Unavailable: it can succeed later."""
    opening, lane = DeltaTable, DirectLane(None, TableLocks(None))
    table = topic(lane, f"delta.`file://{tmp_path}/topic`", numbers(0, 1))

    def fail(*given: Any, version: int | None = None, **named: Any) -> DeltaTable:
        if version == 0:
            raise DeltaError(text)
        return opening(*given, version=version, **named)

    assert lane.read(table, version=1).num_rows == 1
    monkeypatch.setattr(open_tables, "DeltaTable", fail)
    with pytest.raises(expected or FailedPrecondition):
        lane.read(table, version=0)
