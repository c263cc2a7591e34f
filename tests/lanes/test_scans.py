"""Scans: what both lanes promise of questions about the messages of a topic."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.filter_terms import Filter, Has, Not
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct.filter_cache import FilterCache, PassingMessages
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.scans import Window
from tests.lanes.builders import NOON, at, column, messages, numbers, topic
from tests.lanes.conftest import Bench, direct
from tests.unit.filter_cases import FILTER_CASES

EVERYTHING = Window()


@pytest.fixture
def table(bench: Bench) -> str:
    """A topic of three publishes: positions 0 to 9, 10 to 19 and 100 to 104, each a day later."""
    return topic(
        bench.lane,
        bench.table("messages", "0"),
        numbers(0, 10),
        numbers(10, 10, time=at(days=1, microseconds=700)),
        numbers(100, 5, time=at(days=2)),
    )


def positions(*numbers_: int) -> Window:
    return Window(Positions.of(numbers_))


def test_everything_is_folded(bench: Bench, table: str) -> None:
    assert bench.scans.fold(table, EVERYTHING).runs() == [(0, 19), (100, 104)]


def test_the_stored_of_some_positions_are_folded(bench: Bench, table: str) -> None:
    asked = Window(Positions.between(5, 12) | Positions.between(90, 102))
    assert bench.scans.fold(table, asked).runs() == [(5, 12), (100, 102)]
    assert not bench.scans.fold(table, positions(50, 1000))
    assert not bench.scans.fold(table, positions())


def test_many_scattered_positions_are_folded(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "1"), numbers(0, 5000))
    asked = Positions.of(range(0, 9000, 3))
    assert bench.scans.fold(table, Window(asked)) == Positions.of(range(0, 5000, 3))
    assert column(bench.scans.rows(table, Window(asked), ["position"]), "position") == list(
        range(0, 5000, 3)
    )


@pytest.mark.parametrize(
    ("earliest", "latest", "expected"),
    [
        (at(days=1, microseconds=700), None, [(10, 19), (100, 104)]),
        (at(days=1, microseconds=701), None, [(100, 104)]),
        (None, at(days=1, microseconds=700), [(0, 19)]),
        (None, at(days=1, microseconds=699), [(0, 9)]),
        (at(days=1), at(days=1, microseconds=700), [(10, 19)]),
        (at(days=3), None, []),
    ],
)
def test_both_times_of_a_window_are_included(
    bench: Bench,
    table: str,
    earliest: datetime | None,
    latest: datetime | None,
    expected: list[tuple[int, int]],
) -> None:
    window = Window(None, earliest, latest)
    assert bench.scans.fold(table, window).runs() == expected
    found = Positions.union(part.positions for part in bench.scans.parts(table, window))
    assert found.runs() == expected
    assert bench.scans.count(table, window)[0] == len(found)


def test_whole_days_are_those_of_the_partitions(bench: Bench) -> None:
    """Design: topics are partitioned by the day of their publish time, in UTC."""
    midnight = at(hours=12)
    of_days = topic(
        bench.lane,
        bench.table("messages", "1"),
        numbers(0, 1, time=midnight - timedelta(microseconds=1)),
        numbers(1, 1, time=midnight),
        numbers(2, 1, time=midnight + timedelta(hours=24, microseconds=-1)),
        numbers(3, 1, time=midnight + timedelta(hours=24)),
    )
    in_india = timezone(timedelta(hours=5, minutes=30))
    moment = (midnight + timedelta(hours=20)).astimezone(in_india)  # there it is the day after
    for earliest, latest, expected in (
        (moment, moment, [(1, 2)]),
        (moment, None, [(1, 3)]),
        (None, moment, [(0, 2)]),
        (None, None, [(0, 3)]),
    ):
        window = Window(None, earliest, latest).on_whole_days()
        assert bench.scans.fold(of_days, window).runs() == expected
    chosen = Window(Positions.of([0, 2]), moment, moment).on_whole_days()
    assert bench.scans.fold(of_days, chosen).runs() == [(2, 2)]


def test_parts_tell_the_times_of_their_messages(bench: Bench) -> None:
    table = topic(
        bench.lane,
        bench.table("messages", "1"),
        numbers(0, 3),
        numbers(3, 2, time=at(seconds=5)),
        numbers(1 << 20, 2, time=at(microseconds=1)),
    )
    parts = sorted(bench.scans.parts(table, EVERYTHING), key=lambda part: part.positions.min)
    assert [part.positions.runs() for part in parts] == [[(0, 4)], [(1 << 20, (1 << 20) + 1)]]
    assert [(part.publish_time_min, part.publish_time_max) for part in parts] == [
        (NOON, at(seconds=5)),
        (at(microseconds=1), at(microseconds=1)),
    ]
    assert bench.scans.parts(table, positions(7)) == []


def test_a_filter_agrees_with_the_table_of_cases(bench: Bench) -> None:
    rows = messages(
        0,
        *(b"" for _ in FILTER_CASES),
        attributes=[attributes for _, attributes, _ in FILTER_CASES],
    )
    table = topic(bench.lane, bench.table("messages", "1"), rows)
    for text in {text for text, _, _ in FILTER_CASES}:
        passing = bench.scans.fold(table, EVERYTHING, parse_filter(text))
        for number, (case, attributes, expected) in enumerate(FILTER_CASES):
            if case == text:
                assert (number in passing) is expected, (text, attributes)


def test_null_attributes_are_none(bench: Bench) -> None:
    rows = messages(0, b"", b"", attributes=[None, {"a": "1"}])
    table = topic(bench.lane, bench.table("messages", "1"), rows)
    for text, expected in (
        ("attributes:a", [1]),
        ("NOT attributes:a", [0]),
        ('attributes.a = "1"', [1]),
        ('attributes.a != "1"', [0]),
        ('NOT hasPrefix(attributes.a, "1")', [0]),
    ):
        assert list(bench.scans.fold(table, EVERYTHING, parse_filter(text))) == expected, text


EVEN: Filter = Has("even")
ODD: Filter = Not(EVEN)


def of_two_kinds(first: int, count: int, time: datetime) -> pa.Table:
    """Return messages that were published a second apart."""
    attributes = [{"even": ""} if n % 2 == 0 else None for n in range(first, first + count)]
    rows = numbers(first, count, attributes=attributes, time=time)
    times = [time + timedelta(seconds=n) for n in range(count)]
    place = rows.schema.get_field_index("publish_time")
    kind = rows.schema.field(place)
    return rows.set_column(place, kind, pa.array(times, kind.type))


def test_what_passes_a_filter_is_the_same_whatever_was_asked_before(bench: Bench) -> None:
    """Of a file that was read before, and of one that is rewritten or new."""
    table = topic(
        bench.lane,
        bench.table("messages", "1"),
        of_two_kinds(0, 10, at(days=0)),
        of_two_kinds(10, 10, at(days=1)),
    )
    windows = (
        EVERYTHING,
        Window(Positions.between(0, 13)),
        Window(None, at(days=1), None),
        Window(None, None, at(hours=23)),
        Window(Positions.between(8, 12), at(days=0), at(days=2)),
        Window(None, None, at(days=1, seconds=3)),
        Window(None, at(days=1, seconds=6), None),
        positions(3, 4, 17),
    )
    for _ in range(2):
        for filter_, odd in ((EVEN, 0), (ODD, 1)):
            for window in windows:
                found = bench.scans.fold(table, window, filter_)
                every = bench.scans.fold(table, window)
                assert list(found) == [n for n in every if n % 2 == odd], window
        bench.lane.append(table, of_two_kinds(20, 10, at(days=2)), "another")
        bench.lane.delete(table, [("position", "<", 4)])


def test_a_file_that_a_filter_has_read_is_not_read_again(tmp_path: Path) -> None:
    """The console, metrics and previews look again and again at what nobody pulls."""
    bench = Bench("direct", tmp_path, direct)
    table = topic(
        bench.lane,
        bench.table("messages", "1"),
        of_two_kinds(0, 10, at(days=0)),
        of_two_kinds(10, 10, at(days=1)),
    )
    assert len(bench.scans.fold(table, EVERYTHING, EVEN)) == 10
    windows = (EVERYTHING, 10), (positions(3, 4), 1), (Window(None, at(days=1)), 5)
    for file in bench.path("messages", "1").rglob("*.parquet"):
        file.unlink()
    for window, count in windows:
        assert len(bench.scans.fold(table, window, EVEN)) == count
    with pytest.raises(DataLoss):
        bench.scans.fold(table, EVERYTHING, ODD)


@pytest.mark.parametrize("rows", [1, 8 * 1024])
def test_so_much_is_kept_at_most_and_what_was_not_asked_for_longest_goes_first(rows: int) -> None:
    """Files of one row are counted, too: a topic may have very many."""
    kept = FilterCache(most_bytes=2_500)
    for number in range(3):
        kept.add("id", f"file {number}", EVEN, rows, PassingMessages(Positions.of([number]), 0, 0))
        kept.find("id", "file 0", EVEN)  # it is asked for, so it stays
    found = [kept.find("id", f"file {number}", EVEN) is not None for number in range(3)]
    assert found == [True, False, True]
    kept.add("id", "file 2", EVEN, rows, PassingMessages(Positions.of([7]), 0, 0))
    assert kept.find("id", "file 0", EVEN) is not None, "what is added again counts once"
    assert kept.find("another", "file 0", EVEN) is None


def keyed(first: int, *keys: str | None) -> pa.Table:
    return messages(first, *(b"" for _ in keys), ordering_key=list(keys))


def test_messages_share_keys(bench: Bench) -> None:
    table = topic(
        bench.lane,
        bench.table("messages", "1"),
        keyed(0, "a", "b", "", "c"),
        keyed(4, "b", None, "a", ""),
    )
    shared = bench.scans.of_same_keys(table, of=positions(1, 2, 3, 5), among=EVERYTHING)
    assert list(shared) == [1, 3, 4]
    assert list(bench.scans.of_same_keys(table, positions(0), positions(4, 6))) == [6]
    assert not bench.scans.of_same_keys(table, positions(2, 5), EVERYTHING)
    assert not bench.scans.of_same_keys(table, positions(), EVERYTHING)


def test_messages_follow_others_of_their_key(bench: Bench) -> None:
    table = topic(
        bench.lane,
        bench.table("messages", "1"),
        keyed(0, "a", "b", "", "a", None),
        keyed(5, "b", "a", ""),
    )
    assert list(bench.scans.followers(table, positions(0, 2, 4), EVERYTHING)) == [3, 6]
    assert list(bench.scans.followers(table, positions(3, 1), EVERYTHING)) == [5, 6]
    assert not bench.scans.followers(table, positions(7, 6), EVERYTHING)


def test_rows_come_in_the_order_of_their_positions(bench: Bench) -> None:
    table = topic(
        bench.lane, bench.table("messages", "1"), numbers(20, 5), numbers(0, 5), numbers(10, 5)
    )
    asked = Window(Positions.between(3, 21))
    found = bench.scans.rows(table, asked, ["data", "position"])
    assert found.schema.names == ["data", "position"]
    assert column(found, "position") == [3, 4, 10, 11, 12, 13, 14, 20, 21]
    assert column(found, "data") == [b"%d" % n for n in column(found, "position")]
    assert column(bench.scans.rows(table, positions(3), ["publish_time"]), "publish_time") == [NOON]
    assert bench.scans.rows(table, positions(7), ["data"]).num_rows == 0


def test_batches_give_what_rows_gives(bench: Bench) -> None:
    table = topic(
        bench.lane, bench.table("messages", "1"), numbers(20, 5), numbers(0, 5), numbers(3, 9)
    )
    columns = ["position", "data", "attributes", "publish_date"]
    parts = list(bench.scans.batches(table, EVERYTHING, columns))
    assert pa.Table.from_batches(parts) == bench.scans.rows(table, EVERYTHING, columns)
    assert list(bench.scans.batches(table, positions(15), columns)) == []


def test_batches_are_read_in_slices(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    if bench.name != "direct":
        pytest.skip("how this lane bounds its memory")
    overlapping = [numbers(n, 40) for n in (0, 100, 50, 200, 300)]
    overlapping.append(messages(0, *(b"" for _ in range(30)), position=list(range(45, 345, 10))))
    table = topic(bench.lane, bench.table("messages", "1"), *overlapping)
    whole = bench.scans.rows(table, EVERYTHING, ["position", "data"])
    for size in (1, 5000, 10_000):
        monkeypatch.setattr("pubsub_delta.tables.lanes.direct.scans._SLICE", size)
        parts = list(bench.scans.batches(table, EVERYTHING, ["position", "data"]))
        assert len(parts) > 1
        assert sorted(column(pa.Table.from_batches(parts), "position")) == column(whole, "position")
        assert column(pa.Table.from_batches(parts), "position") == column(whole, "position")


def test_a_message_without_data_or_attributes_is_empty(bench: Bench) -> None:
    rows = messages(0, None, b"x", None, attributes=[None, {"a": "1", "b": "2"}, None])
    table = topic(bench.lane, bench.table("messages", "1"), rows)
    found = bench.scans.rows(table, EVERYTHING, ["data", "attributes"])
    assert column(found, "data") == [b"", b"x", b""]
    assert [dict(each) for each in column(found, "attributes")] == [{}, {"a": "1", "b": "2"}, {}]


def test_of_a_key_that_stands_twice_the_first_value_counts(bench: Bench) -> None:
    """Another writer's: filters go by the value that is delivered."""
    twice = [("k", "1"), ("b", "x"), ("k", "2")]
    rows = messages(0, b"", b"", b"", attributes=[{"k": "2"}, {}, {"a": "1", "b": "2"}])
    of = rows.schema.field("attributes").type
    stored = pa.array([[("k", "2")], twice, [("a", "1"), ("b", "2")]], of)
    rows = rows.set_column(rows.schema.get_field_index("attributes"), "attributes", stored)
    writer = bench.lane if bench.name == "direct" else direct(TableLocks(str(bench.root)))[0]
    table = topic(writer, bench.table("messages", "1"), rows)
    for read in (
        bench.scans.rows(table, EVERYTHING, ["attributes"]),
        pa.Table.from_batches(bench.scans.batches(table, EVERYTHING, ["attributes"])),
    ):
        assert column(read, "attributes") == [
            [("k", "2")], [("k", "1"), ("b", "x")], [("a", "1"), ("b", "2")],
        ]  # fmt: skip

    def passing(text: str) -> list[int]:
        return list(bench.scans.fold(table, EVERYTHING, parse_filter(text)))

    assert passing('attributes.k = "1"') == [1]
    assert passing('attributes.k = "2"') == [0]
    assert passing('attributes.k != "1"') == [0, 2]
    assert passing('hasPrefix(attributes.k, "2")') == [0]
    assert passing("attributes:k") == [0, 1]


def test_messages_are_counted_with_the_earliest_time(bench: Bench, table: str) -> None:
    assert bench.scans.count(table, Window(Positions.between(15, 200))) == (
        10,
        at(days=1, microseconds=700),
    )
    assert bench.scans.count(table, positions(50)) == (0, None)


@pytest.mark.parametrize(
    ("earliest", "latest", "expected"),
    [
        (None, None, (25, NOON)),
        (NOON, None, (25, NOON)),
        (at(microseconds=1), None, (15, at(days=1, microseconds=700))),
        (at(days=1, microseconds=700), None, (15, at(days=1, microseconds=700))),
        (at(days=1, microseconds=701), None, (5, at(days=2))),
        (at(days=3), None, (0, None)),
    ],
)
def test_messages_of_some_times_are_counted_to_the_microsecond(
    bench: Bench,
    table: str,
    earliest: datetime | None,
    latest: datetime | None,
    expected: tuple[int, datetime | None],
) -> None:
    """The log's statistics end at milliseconds."""
    assert bench.scans.count(table, Window(None, earliest, latest)) == expected


def test_bytes_are_those_of_data_attributes_and_keys(bench: Bench) -> None:
    rows = messages(
        0, b"abc", None, b"", ordering_key=["k", None, "ü"], attributes=[{"a": "12"}, None, {}]
    )
    table = topic(bench.lane, bench.table("messages", "1"), rows)
    assert bench.scans.byte_count(table, EVERYTHING) == 3 + 1 + 3 + 2
    assert bench.scans.byte_count(table, positions(0)) == 7
    assert bench.scans.byte_count(table, positions(9)) == 0


def test_a_missing_topic_is_told(bench: Bench) -> None:
    with pytest.raises(TableMissing):
        bench.scans.fold(bench.table("messages", "none"), EVERYTHING)
    with pytest.raises(TableMissing):
        list(bench.scans.batches(bench.table("messages", "none"), EVERYTHING, ["data"]))


def test_lost_messages_are_told(bench: Bench, table: str) -> None:
    for file in bench.path("messages", "0").rglob("publish_date=2025-01-02/*.parquet"):
        file.unlink()
    scans = bench.another()[1]
    assert column(scans.rows(table, positions(3), ["data"]), "data") == [b"3"]
    with pytest.raises(DataLoss, match="messages of this topic are lost"):
        scans.rows(table, positions(3, 12), ["data"])
    with pytest.raises(DataLoss, match="messages of this topic are lost"):
        list(scans.batches(table, EVERYTHING, ["data"]))


def test_files_that_were_compacted_are_read(bench: Bench, table: str) -> None:
    assert bench.scans.fold(table, EVERYTHING).runs() == [(0, 19), (100, 104)]
    for n in range(200, 210, 2):
        bench.lane.append(table, numbers(n, 1, time=at(days=2)), "")
    bench.lane.compact(table)
    assert list(bench.scans.fold(table, Window(Positions.between(100, 206)))) == [
        *range(100, 105), 200, 202, 204, 206,
    ]  # fmt: skip
