"""What the direct lane's scans tell from the log, and which files they read for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct import scans as scans_module
from pubsub_delta.tables.lanes.direct import table_snapshots
from pubsub_delta.tables.lanes.direct.filter_cache import FilterCache
from pubsub_delta.tables.lanes.direct.table_snapshots import (
    StoredFile,
    TableSnapshot,
    _positions_of,
)
from pubsub_delta.tables.lanes.scans import Window
from tests.lanes.builders import NOON, at, messages, numbers, topic
from tests.lanes.conftest import Bench, direct
from tests.lanes.test_scans import EVEN, EVERYTHING, ODD, of_two_kinds


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench("direct", tmp_path, direct)


def without_files(bench: Bench) -> None:
    """Remove what the log does not hold: only what is not read can be told now."""
    for file in bench.path("messages", "0").rglob("*.parquet"):
        file.unlink()


@pytest.mark.parametrize(
    ("positions", "is_run"),
    [
        ([0, 1, 2], True),
        ([7, 8, 9], True),
        ([7], True),
        ([7, 9], False),
        ([0, 2], False),
        ([1, 2, 3, 7], False),
        ([1, None, 3], False),
        ([1, None], False),
    ],
)
def test_the_positions_of_a_run_come_from_the_log(
    bench: Bench, positions: list[int | None], is_run: bool
) -> None:
    rows = messages(0, *(b"" for _ in positions), position=positions)
    table = topic(bench.lane, bench.table("messages", "0"), rows)
    stored = [each for each in positions if each is not None]
    assert list(bench.scans.fold(table, EVERYTHING)) == stored
    without_files(bench)
    if is_run:
        assert list(bench.scans.fold(table, EVERYTHING)) == stored
        chosen = Window(Positions.of([stored[0], 1000]))
        assert list(bench.scans.fold(table, chosen)) == stored[:1]
    else:
        with pytest.raises(DataLoss):
            bench.scans.fold(table, EVERYTHING)


@pytest.mark.parametrize(
    ("window", "is_whole"),
    [
        (EVERYTHING, True),
        (Window(Positions.between(0, 9)), True),
        (Window(Positions.between(0, 4)), True),
        (Window(Positions.between(0, 3)), False),
        (Window(Positions.of([2, 3, 4, 5, 6])), True),
        (Window(Positions.of([2, 4, 6, 900])), False),
        (Window(None, NOON, None), True),
        (Window(None, at(seconds=1), None), False),
        (Window(None, None, at(seconds=9)), True),
        (Window(None, None, at(seconds=8)), False),
        (Window(Positions.between(0, 9), at(seconds=1), None), False),
    ],
)
def test_a_file_of_which_most_is_asked_for_is_read_whole_once(
    bench: Bench, window: Window, is_whole: bool
) -> None:
    """Of another file only what is asked for is looked at, as a pull of few messages does."""
    table = topic(bench.lane, bench.table("messages", "0"), of_two_kinds(0, 10, at(days=0)))
    bench.scans.fold(table, window, EVEN)
    without_files(bench)
    if is_whole:
        assert list(bench.scans.fold(table, EVERYTHING, EVEN)) == [0, 2, 4, 6, 8]
    else:
        with pytest.raises(DataLoss):
            bench.scans.fold(table, EVERYTHING, EVEN)


def test_what_is_kept_of_large_files_counts_by_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(**_: Any) -> FilterCache:
        return FilterCache(most_bytes=3_000)

    monkeypatch.setattr(scans_module, "FilterCache", small)
    bench = Bench("direct", tmp_path, direct)
    rows = of_two_kinds(0, 16_000, at(days=0))  # 2,000 bytes
    table = topic(bench.lane, bench.table("messages", "0"), rows)
    assert len(bench.scans.fold(table, EVERYTHING, EVEN)) == 8_000
    assert len(bench.scans.fold(table, EVERYTHING, ODD)) == 8_000
    without_files(bench)
    assert len(bench.scans.fold(table, EVERYTHING, ODD)) == 8_000
    with pytest.raises(DataLoss):
        bench.scans.fold(table, EVERYTHING, EVEN)


def timed(first: int, *times: datetime) -> pa.Table:
    """Return messages of one file that were published at some times."""
    rows = numbers(first, len(times))
    of = rows.schema.field("publish_time").type
    place = rows.schema.get_field_index("publish_time")
    return rows.set_column(place, rows.schema.field(place), pa.array(times, of))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("earliest", "latest", "expected"),
    [
        (None, None, (6, at(hours=-1))),
        (NOON, None, (5, at(hours=2))),
        (at(hours=2, microseconds=1), None, (4, at(hours=3))),
        (at(hours=4), None, (3, at(hours=5))),
        (NOON, at(hours=5), (3, at(hours=2))),
        (at(hours=-2), at(hours=2), (2, at(hours=-1))),
        (at(hours=6), at(hours=7), (2, at(hours=6))),
    ],
)
def test_the_earliest_of_a_window_is_that_of_all_its_files(
    bench: Bench,
    earliest: datetime | None,
    latest: datetime | None,
    expected: tuple[int, datetime],
    turned: bool,
) -> None:
    """Of those that lie within it, by the log, and of those that reach into it."""
    files = [
        timed(0, at(hours=-1), at(hours=5)),
        timed(10, at(hours=2), at(hours=3)),
        timed(20, at(hours=6), at(hours=7)),
    ]
    ordered = files[::-1] if turned else files
    table = topic(bench.lane, bench.table("messages", "0"), *ordered)
    assert bench.scans.count(table, Window(None, earliest, latest)) == expected


def test_times_within_a_millisecond_count_as_they_are(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark cuts a file's statistics to milliseconds; the times of messages have microseconds."""
    last = at(microseconds=900)
    table = topic(bench.lane, bench.table("messages", "0"), timed(0, NOON, last))
    as_written = table_snapshots._stored_file

    def cut(action: dict[str, Any]) -> StoredFile:
        file = as_written(action)
        assert file.maximum["publish_time"] == last
        return replace(file, maximum={**file.maximum, "publish_time": NOON})

    monkeypatch.setattr(table_snapshots, "_stored_file", cut)
    for microseconds, expected in ((500, 1), (899, 1), (900, 2), (2_000, 2)):
        window = Window(None, None, at(microseconds=microseconds))
        assert bench.scans.count(table, window) == (expected, NOON)
    (of_file,) = bench.lane.files(table)
    assert of_file.publish_time_max is not None
    assert last <= of_file.publish_time_max < at(microseconds=2_000)


def test_the_earliest_message_can_be_in_a_file_of_which_the_log_tells_less(bench: Bench) -> None:
    """A file with a row without a position is read, and the others are not left out for it."""
    odd = numbers(0, 2, position=[None, 1], time=at(hours=2))
    for place, of_others in enumerate((at(hours=1), at(hours=3))):
        table = bench.table("messages", str(place))
        topic(bench.lane, table, odd, numbers(10, 2, time=of_others))
        assert bench.scans.count(table, EVERYTHING) == (3, min(at(hours=2), of_others))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, (3, NOON)),
        ({"position": [0, None, 2]}, (2, NOON)),
        ({"position": [None, None, 2]}, (1, NOON)),
    ],
)
@pytest.mark.parametrize("earliest", [None, NOON])
def test_rows_without_a_position_are_no_messages_and_do_not_count(
    bench: Bench, columns: dict[str, Any], expected: tuple[int, datetime], earliest: datetime | None
) -> None:
    """Another program can have written them: the log tells how many rows a file has."""
    rows = messages(0, b"", b"", b"", **columns)
    table = topic(bench.lane, bench.table("messages", "0"), rows)
    assert bench.scans.count(table, Window(None, earliest, None)) == expected


def test_what_is_counted_from_the_log_is_not_read_but_for_the_earliest(bench: Bench) -> None:
    """A topic of many days is counted by its log, and its first file says when it begins."""
    days = [numbers(10 * day, 10, time=at(days=day)) for day in (2, 0, 1)]
    table = topic(bench.lane, bench.table("messages", "0"), *days)
    assert bench.scans.count(table, EVERYTHING) == (30, NOON)
    for later in ("2025-01-02", "2025-01-03"):
        for file in bench.path("messages", "0").rglob(f"publish_date={later}/*.parquet"):
            file.unlink()
    assert bench.scans.count(table, EVERYTHING) == (30, NOON)
    with pytest.raises(DataLoss):
        bench.scans.count(table, Window(None, at(days=1), None))


def test_a_part_has_the_positions_of_32768_messages_at_most(bench: Bench) -> None:
    """Each part has two publish times, of which a seek takes the earlier for all."""
    rows = numbers(32_767, 2)
    table = topic(bench.lane, bench.table("messages", "0"), rows, numbers(65_535, 2))
    parts = sorted(bench.scans.parts(table, EVERYTHING), key=lambda part: part.positions.min)
    assert [part.positions.runs() for part in parts] == [
        [(32_767, 32_767)],
        [(32_768, 32_768), (65_535, 65_535)],
        [(65_536, 65_536)],
    ]


def test_what_other_writers_left_out_of_a_message_is_null_or_empty(bench: Bench) -> None:
    """Their messages may lack data, key or attributes; of a repeated attribute the first counts."""
    rows = messages(0, None, b"a", ordering_key=[None, "k"])
    place = rows.column_names.index("attributes")
    twice = pa.array([None, [("a", "1"), ("a", "2")]], rows.schema.field(place).type)
    rows = rows.set_column(place, rows.schema.field(place), twice)
    table = topic(bench.lane, bench.table("messages", "0"), rows)
    found = bench.scans.rows(table, EVERYTHING, ["data", "ordering_key", "attributes"])
    assert found["data"].to_pylist() == [b"", b"a"]
    assert [each or "" for each in found["ordering_key"].to_pylist()] == ["", "k"]
    assert [dict(each or []) for each in found["attributes"].to_pylist()] == [{}, {"a": "1"}]


def test_a_count_looks_at_each_file_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic of ten thousand files is counted in a second, and not in a minute."""
    days = [numbers(10 * day, 10, time=at(days=day)) for day in range(6)]
    table = topic(bench.lane, bench.table("messages", "0"), *days)
    compared: list[StoredFile] = []
    monkeypatch.setattr(StoredFile, "__eq__", lambda file, _: compared.append(file))
    assert bench.scans.count(table, EVERYTHING) == (60, NOON)
    assert not compared


def test_positions_of_many_files_are_read_a_few_files_at_a_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is far behind has a set of positions in memory, and not a number for each."""
    gaps = [messages(0, b"", b"", position=[10 * n, 10 * n + 2]) for n in range(5)]
    table = topic(bench.lane, bench.table("messages", "0"), *gaps)
    together: list[int] = []
    real = TableSnapshot.read

    def read(snapshot: TableSnapshot, files: Sequence[StoredFile], *more: Any) -> list[pa.Table]:
        together.append(len(files))
        return real(snapshot, files, *more)

    monkeypatch.setattr(TableSnapshot, "read", read)
    monkeypatch.setattr(scans_module, "_AT_ONCE", 2)
    assert [*bench.scans.fold(table, EVERYTHING)] == [
        n + k for n in range(0, 50, 10) for k in (0, 2)
    ]
    assert together == [2, 2, 1]


def test_positions_without_statistics_may_be_any(tmp_path: Path) -> None:
    """Another program may have rewritten a file without them: nothing of it is passed over."""
    rows = pa.table({"position": [7, 9], "data": [b"a", b"b"]})
    for name, has_statistics, found in (("with", True, (7, 9)), ("none", False, (0, 2**63 - 1))):
        path = tmp_path / name
        pq.write_table(rows, path, write_statistics=has_statistics)
        assert _positions_of(pq.ParquetFile(path), 0) == found
