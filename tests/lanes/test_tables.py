"""Tables: what both lanes promise of reading and writing them."""

from __future__ import annotations

import multiprocessing
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.lanes.direct import DirectLane
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Condition, Conflict, Lane, Merge, TableMissing, Where
from pubsub_delta.tables.schemas import (
    ACK_STATE,
    MESSAGES,
    POSITIONS,
    SNAPSHOTS,
    SUBSCRIPTIONS,
    TOPICS,
    TableSchema,
)
from tests.lanes.builders import (
    CAS,
    NOON,
    ack_state,
    at,
    column,
    messages,
    next_position,
    numbers,
    of_delta,
    topic,
)
from tests.lanes.conftest import Bench

UNLESS_THERE = Merge(on=[("name", "=", "name")], insert=True)


def named(name: str, **columns: object) -> pa.Table:
    return pa.Table.from_pylist([{"name": name, **columns}], schema=TOPICS.columns)


# create


@pytest.mark.parametrize(
    "schema", [MESSAGES, ACK_STATE, POSITIONS, TOPICS, SUBSCRIPTIONS, SNAPSHOTS]
)
def test_a_new_table_is_empty_and_has_its_columns(bench: Bench, schema: TableSchema) -> None:
    table = bench.table("new")
    bench.lane.create(table, schema)
    assert bench.lane.version(table) == 0
    assert bench.lane.read(table).schema.names == schema.columns.names
    assert bench.lane.read(table).num_rows == 0


def test_creating_a_table_that_exists_changes_nothing(bench: Bench) -> None:
    table = bench.table("topics")
    bench.lane.create(table, TOPICS)
    bench.lane.merge(table, named("a"), UNLESS_THERE)
    bench.another()[0].create(table, TOPICS)
    assert bench.lane.version(table) == 1


def test_a_table_is_created_with_rows_in_one_commit(bench: Bench) -> None:
    table = bench.table("ack_state", "0")
    bench.lane.create(table, ACK_STATE, ack_state(7, recent_commits=["x"]))
    assert bench.lane.version(table) == 0
    (row,) = bench.lane.read(table).to_pylist()
    assert (row["revision"], row["recent_commits"], row["spans"]) == (7, ["x"], None)


@pytest.mark.parametrize("rows", [None, next_position(1)])
def test_a_table_is_plain_delta(bench: Bench, rows: pa.Table | None) -> None:
    from deltalake import DeltaTable

    bench.lane.create(bench.table("positions"), POSITIONS, rows)
    protocol = DeltaTable(str(bench.path("positions"))).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    properties = DeltaTable(str(bench.path("positions"))).metadata().configuration
    assert properties["delta.logRetentionDuration"] == "interval 1 minutes"


# missing tables


def test_a_missing_table_is_told(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("none")
    assert not lane.exists(table)
    for use in (
        lane.version,
        lane.history,
        lane.read,
        lane.files,
        lambda _: lane.merge(table, named("a"), UNLESS_THERE),
        lambda _: lane.append(table, numbers(0, 1), ""),
        lambda _: lane.delete(table, ()),
        lambda _: lane.read(table, version=3),
    ):
        with pytest.raises(TableMissing):
            use(table)
    lane.drop(table)
    assert not bench.path("none").exists()


def test_a_table_that_was_removed_is_missing_again(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 1))
    assert bench.lane.exists(table)
    shutil.rmtree(bench.path("messages", "0"))
    assert not bench.lane.exists(table)
    with pytest.raises(TableMissing):
        bench.lane.read(table)


# merge


def test_a_compare_and_swap_wins_once(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("positions")
    lane.create(table, POSITIONS, next_position(1))
    assert lane.merge(table, next_position(5, was=1), CAS) == 1
    assert lane.merge(table, next_position(9, was=1), CAS) == 0
    assert lane.version(table) == 1
    assert column(lane.read(table), "next_position") == [5]


def test_a_row_is_added_unless_it_is_there(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("topics")
    lane.create(table, TOPICS)
    assert lane.merge(table, named("a", uid="1", labels=[("x", "y")]), UNLESS_THERE) == 1
    assert lane.merge(table, named("a", uid="2"), UNLESS_THERE) == 0
    (row,) = lane.read(table).to_pylist()
    assert (row["uid"], dict(row["labels"])) == ("1", {"x": "y"})


def test_some_columns_of_a_row_are_updated(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("topics")
    lane.create(table, of_delta(TOPICS), named("a", uid="1", etag="old"))
    change = pa.table({"name": ["a"], "was": ["old"], "etag": ["new"]})
    swap = Merge(on=[("name", "=", "name"), ("etag", "=", "was")], update=("etag",))
    assert lane.merge(table, change, swap) == 1
    (row,) = lane.read(table).to_pylist()
    assert (row["uid"], row["etag"]) == ("1", "new")


def test_a_row_is_deleted_if_it_matches(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("topics")
    lane.create(table, of_delta(TOPICS), pa.concat_tables([named("a"), named("b")]))
    gone = pa.table({"name": ["a"]})
    delete = Merge(on=[("name", "=", "name")], delete=True)
    assert lane.merge(table, gone, delete) == 1
    assert lane.merge(table, gone, delete) == 0
    assert column(lane.read(table), "name") == ["b"]


def test_no_rows_are_merged_without_a_commit(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("topics")
    lane.create(table, TOPICS)
    assert lane.merge(table, named("a").slice(1), UNLESS_THERE) == 0
    assert lane.version(table) == 0


def swap(lane: Lane, table: str, times: int) -> None:
    """Count up by compare and swap, deciding again whenever somebody else was faster."""
    done = 0
    while done < times:
        was = lane.read(table)["next_position"][0].as_py()
        try:
            done += lane.merge(table, next_position(was + 1, was=was), CAS)
        except Conflict:
            continue


def test_threads_count_every_swap(bench: Bench) -> None:
    table = bench.table("positions")
    bench.lane.create(table, POSITIONS, next_position(0))
    lanes = [bench.lane, bench.lane, bench.another()[0], bench.another()[0]]
    with ThreadPoolExecutor(4) as threads:
        times = 8 if bench.name == "direct" else 2
        list(threads.map(lambda lane: swap(lane, table, times), lanes))
    assert column(bench.lane.read(table), "next_position") == [4 * times]


def swap_in_a_process(root: str | None, table: str, times: int) -> None:
    swap(DirectLane(None, TableLocks(root)), table, times)


@pytest.mark.parametrize("with_locks", [True, False])
def test_processes_count_every_swap(tmp_path: Path, with_locks: bool) -> None:
    root = str(tmp_path) if with_locks else None
    table = f"delta.`{tmp_path}/positions`"
    lane = DirectLane(None, TableLocks(root))
    lane.create(table, POSITIONS, next_position(0))
    spawn = multiprocessing.get_context("spawn")  # deltalake does not survive a fork
    workers = [spawn.Process(target=swap_in_a_process, args=(root, table, 10)) for _ in range(2)]
    for worker in workers:
        worker.start()
    swap(lane, table, 10)
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert column(lane.read(table), "next_position") == [30]


# append


def test_an_append_carries_a_text(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 3), numbers(3, 2))
    told = bench.another()[0].history(table)
    assert [commit.version for commit in told] == [2, 1, 0]
    assert [commit.user_metadata for commit in told] == ["publish 1", "publish 0", None]
    assert told[0].time.utcoffset() is not None
    assert [c.version for c in bench.lane.history(table, limit=2)] == [2, 1]


def test_a_transaction_is_appended_once(bench: Bench) -> None:
    lane, table = bench.lane, topic(bench.lane, bench.table("messages", "0"))
    assert lane.append(table, numbers(0, 1), "", ("till", 0))
    assert not lane.append(table, numbers(0, 1), "", ("till", 0))
    assert lane.append(table, numbers(1, 1), "", ("till", 4))
    other = bench.another()[0]
    assert not other.append(table, numbers(2, 1), "", ("till", 4))
    assert not other.append(table, numbers(2, 1), "", ("till", 3))
    assert other.append(table, numbers(2, 1), "", ("another", 1))
    assert sorted(column(lane.read(table), "position")) == [0, 1, 2]


def test_one_of_two_appends_of_a_transaction_lands(tmp_path: Path) -> None:
    """Without locks, as on object storage: it is a Conflict, or seen to have landed."""
    table = f"delta.`{tmp_path}/messages`"
    first, second = (DirectLane(None, TableLocks(None)) for _ in range(2))
    topic(first, table)
    outcomes = []

    def append(lane: DirectLane, name: str) -> None:
        for number in range(12):
            try:
                metadata = f"{number} of {name}"
                made = lane.append(table, numbers(number, 1), metadata, ("till", number))
                outcomes.append(made.landed)
            except Conflict:
                outcomes.append(False)

    lanes = ((first, "the first"), (second, "the second"))
    threads = [threading.Thread(target=append, args=each) for each in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    positions = column(first.read(table), "position")
    assert outcomes.count(True) == len(positions) == len(set(positions))


# read


def test_rows_are_read_by_conditions(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("topics")
    rows = [
        named("a", uid="1", create_time=at(hours=1)),
        named("ab", uid="2", create_time=at(hours=2)),
        named("b", create_time=at(hours=3)),
    ]
    lane.create(table, of_delta(TOPICS), pa.concat_tables(rows))

    def found(*where: Condition) -> list[str]:
        return sorted(column(lane.read(table, where, ["name"]), "name"))

    assert found(("name", "=", "a")) == ["a"]
    assert found(("uid", "in", ["1", "2", "3"]), ("name", ">", "a")) == ["ab"]
    assert found(("uid", "in", [])) == []
    assert found(("create_time", ">=", at(hours=2))) == ["ab", "b"]
    assert found(("create_time", "<", at(hours=2))) == ["a"]


def test_messages_are_read_by_day_and_to_the_microsecond(bench: Bench) -> None:
    late = at(hours=12, microseconds=700)
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 2), numbers(2, 2, time=late))
    found = bench.lane.read(table, [("publish_date", ">", NOON.date())], ["position"])
    assert sorted(column(found, "position")) == [2, 3]
    expected: list[tuple[Condition, int]] = [
        (("publish_time", "=", late), 2),
        (("publish_time", ">=", late), 2),
        (("publish_time", ">", late), 0),
        (("publish_time", "<", late), 2),
        (("publish_time", "<=", late), 4),
    ]
    for condition, count in expected:
        assert bench.lane.read(table, [condition]).num_rows == count, condition


def test_another_lanes_commits_are_seen(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("positions")
    lane.create(table, POSITIONS, next_position(1))
    other = bench.another()[0]
    for value in range(1, 50 if bench.name == "direct" else 4):
        assert other.merge(table, next_position(value + 1, was=value), CAS) == 1
        assert column(lane.read(table), "next_position") == [value + 1]


def test_the_past_is_read_by_version(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("positions")
    lane.create(table, POSITIONS, next_position(1))
    lane.merge(table, next_position(2, was=1), CAS)
    assert column(lane.read(table, version=0), "next_position") == [1]
    assert column(lane.read(table, version=1), "next_position") == [2]
    assert column(lane.read(table), "next_position") == [2]


# files


def test_files_tell_positions_and_times(bench: Bench) -> None:
    time = at(hours=13, microseconds=1500)
    table = topic(
        bench.lane, bench.table("messages", "0"), numbers(0, 3), numbers(10, 4, time=time)
    )
    first, second = sorted(bench.lane.files(table), key=lambda file: file.position_min or 0)
    assert (first.rows, first.position_min, first.position_max) == (3, 0, 2)
    assert (second.rows, second.position_min, second.position_max) == (4, 10, 13)
    assert second.publish_date == time.date()
    assert second.publish_time_min is not None
    assert second.publish_time_max is not None
    assert second.publish_time_min <= time <= second.publish_time_max
    assert second.size > 0


# delete, drop


def test_messages_of_whole_days_are_deleted(bench: Bench) -> None:
    table = topic(
        bench.lane, bench.table("messages", "0"), numbers(0, 3), numbers(3, 2, time=at(days=1))
    )
    before: Where = [("publish_date", "<", at(days=1).date())]
    assert bench.lane.delete(table, before) == 3
    assert bench.lane.delete(table, before) == 0
    assert sorted(column(bench.lane.read(table), "position")) == [3, 4]


def test_messages_before_a_time_are_deleted_to_the_microsecond(bench: Bench) -> None:
    publishes = [numbers(n, 1, time=at(microseconds=100 + n)) for n in range(4)]
    table = topic(bench.lane, bench.table("messages", "0"), *publishes)
    where: Where = [
        ("publish_date", "<=", NOON.date()),
        ("publish_time", "<", at(microseconds=102)),
    ]
    assert bench.lane.delete(table, where) == 2
    assert sorted(column(bench.lane.read(table), "position")) == [2, 3]


def test_rows_are_deleted_by_name(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("topics")
    lane.create(table, of_delta(TOPICS), pa.concat_tables([named("it's"), named("b"), named("c")]))
    assert lane.delete(table, [("name", "in", ["it's", "c"])]) == 2
    assert column(lane.read(table), "name") == ["b"]
    assert lane.delete(table, ()) == 1


def test_a_table_that_was_dropped_has_no_files_left(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 3))
    bench.lane.drop(table)
    assert list(bench.path("messages", "0").rglob("*.parquet")) == []
    bench.lane.drop(table)
    assert not bench.lane.exists(table) or bench.lane.read(table).num_rows == 0


def test_null_data_of_other_writers_is_stored_as_it_is(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), messages(0, None, attributes=[None]))
    (row,) = bench.lane.read(table).to_pylist()
    assert (row["data"], row["attributes"]) == (None, None)


FORBIDDEN = "the table forbids this write .*remove it from the table"


def test_what_a_table_is_made_to_forbid_is_refused_by_name(bench: Bench) -> None:
    # "Only documented errors": another program has set a property, or added a constraint
    table = bench.table("positions", "0")
    bench.lane.create(table, POSITIONS, next_position(0))
    stored = DeltaTable(bench.path("positions", "0"))
    stored.alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(FailedPrecondition, match=FORBIDDEN):
        bench.lane.merge(table, next_position(1, was=0), CAS)
    with pytest.raises(FailedPrecondition, match=FORBIDDEN):
        bench.lane.delete(table, ())
    topic(bench.lane, bench.table("messages", "0"))
    stored = DeltaTable(bench.path("messages", "0"))
    stored.alter.add_constraint({"theirs": "position < 5"})
    with pytest.raises(FailedPrecondition, match=FORBIDDEN):
        bench.lane.append(bench.table("messages", "0"), numbers(4, 2), "publish")
