"""Reads of tables on a disk, whose files are joined and removed and whose keys are renewed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("fastapi")
from deltalake import ColumnProperties, DeltaTable, WriterProperties, write_deltalake
from fastapi.testclient import TestClient

from pubsub_delta import ManualClock, PubSub
from pubsub_delta.console.application import create_app
from pubsub_delta.console.formatting import timestamp
from pubsub_delta.console.security import ConsoleAccess
from pubsub_delta.datasource import writing
from pubsub_delta.operations import find
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.tables.lanes.direct import DirectLane, scans
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.lanes.direct.table_snapshots import StoredFile, TableSnapshot
from pubsub_delta.tables.lanes.protocol import DataFile
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.messages import sizes
from tests.unit.browsing import BASE, words
from tests.unit.builders import DAY, HOUR, at

TOPIC = "projects/local/topics/flights"


def found(store: PubSub, query: MessageQuery = MessageQuery()) -> list[str]:  # noqa: B008
    return [each.data.decode() for each in store.find_messages(TOPIC, query).messages()]


def test_a_search_finds_what_a_small_file_holds_within_the_range_of_a_large_one(
    tmp_path: Path,
) -> None:
    """Positions are reserved before they are written, and OPTIMIZE joins files beside them."""
    one, other = (PubSub(None, str(tmp_path)) for _ in range(2))
    one.create_topic("flights")
    one.publish("flights", [b"a"])
    tables = one._tables
    reserved = writing.reserve(tables, one._topic("flights"), one.clock.now())
    other.publish("flights", [b"z"])
    assert tables.messages(reserved.topic_uid).optimize() == 2
    rows = pa.record_batch({"data": pa.array([b"b", b"c"])})
    written = writing.write_messages(tables, reserved, 0, [rows])
    assert written is not None
    writing.commit(tables, reserved, [written], None)
    assert found(one) == ["z", "c", "b", "a"]


@pytest.mark.parametrize("statistics", ["PAGE", "NONE"])
def test_what_another_engine_has_rewritten_without_statistics_is_delivered(
    tmp_path: Path, statistics: Any
) -> None:
    """Delta: statistics are optional. A message that is still stored is not lost."""
    store = PubSub(None, str(tmp_path))
    store.create_topic("flights")
    store.create_subscription("delays", "flights")
    store.publish("flights", [b"a", b"b", b"c"])
    table = DeltaTable(tmp_path / "messages" / store.get_topic("flights").uid)
    written = ColumnProperties(statistics_enabled=statistics)
    properties = WriterProperties(default_column_properties=written)
    table.delete("CAST(data AS STRING) = 'b'", writer_properties=properties)
    assert [each.data for each in PubSub(None, str(tmp_path)).pull("delays")] == [b"a", b"c"]


def test_the_messages_of_a_day_are_those_of_all_its_files(tmp_path: Path) -> None:
    clock = ManualClock(at(0))
    store = PubSub(None, str(tmp_path), clock=clock)
    store.create_topic("flights")
    store.publish("flights", [b"a", b"b"])
    store.publish("flights", [b"c"])
    clock.advance(DAY)
    store.publish("flights", [b"d"])
    found = [(each.day, each.message_count) for each in store.messages_by_day("flights")]
    assert found == [(at(0).date(), 3), (at(DAY).date(), 1)]


def test_messages_of_a_day_are_counted_where_the_log_does_not_tell_their_number(
    tmp_path: Path,
) -> None:
    """Delta: statistics are optional. A topic with messages is not shown as empty."""
    clock = ManualClock(at(0))
    store = PubSub(None, str(tmp_path), clock=clock)
    store.create_topic("flights")
    store.publish("flights", [b"a", b"b"])
    clock.advance(DAY)
    store.publish("flights", [b"c"])
    log = tmp_path / "messages" / store.get_topic("flights").uid / "_delta_log"
    commit = log / f"{1:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for each in actions:
        each.get("add", {}).pop("stats", None)
    commit.write_text("\n".join(map(json.dumps, actions)))
    other = PubSub(None, str(tmp_path), clock=clock)
    found = [(each.day, each.message_count) for each in other.messages_by_day("flights")]
    assert found == [(at(0).date(), 2), (at(DAY).date(), 1)]


def test_a_search_finds_what_was_published_within_the_last_millisecond_of_a_file(
    tmp_path: Path,
) -> None:
    """Statistics of times are cut to milliseconds."""
    published = at(0) + timedelta(microseconds=500)
    store = PubSub(None, str(tmp_path), clock=ManualClock(published))
    store.create_topic("flights")
    store.publish("flights", [b"late"])
    since = published - timedelta(microseconds=100)
    assert found(store, MessageQuery(earliest=since)) == ["late"]
    assert found(store, MessageQuery(earliest=published + timedelta(microseconds=1))) == []


def test_a_search_reads_positions_of_the_files_that_it_reaches_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of results, or a search that is stopped, does not pay for the whole topic."""
    monkeypatch.setattr(find, "PART", 1 << 14)
    clock = ManualClock(at(0))
    for day in range(3):
        clock.advance(86_400)
        for number in range(2):  # each process reserves a block of its own
            store = PubSub(None, str(tmp_path), clock=clock)
            if not day and not number:
                uid = store.create_topic("flights").uid
            store.publish("flights", [f"{day}{number}".encode()])
    store._tables.messages(uid).optimize()
    read: list[str] = []

    def noting(self: TableSnapshot, files: Sequence[StoredFile], *others: Any) -> list[pa.Table]:
        read.extend(str(file.partition["publish_date"]) for file in files)
        return reading(self, files, *others)

    reading = TableSnapshot.read
    monkeypatch.setattr(TableSnapshot, "read", noting)
    messages = store.find_messages(TOPIC).messages()
    assert [next(messages).data for _ in range(2)] == [b"21", b"20"]
    assert set(read) == {str(clock.now().date())}
    assert [each.data for each in messages] == [b"11", b"10", b"01", b"00"]
    assert len(set(read)) == 3


def test_a_read_goes_on_behind_what_it_has_returned_when_its_files_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "_SLICE", 1)
    store = PubSub(None, str(tmp_path))
    uid = store.create_topic("flights").uid
    for data in (b"a", b"b", b"c"):
        store.publish("flights", [data])
    tables = store._tables
    table = tables.messages(uid).table
    batches = tables.lanes.local_scans.batches(table, Window(), ["data"])
    seen = next(batches)["data"].to_pylist()
    tables.messages(uid).optimize()
    DeltaTable(tmp_path / "messages" / uid).vacuum(
        0, dry_run=False, enforce_retention_duration=False
    )
    for batch in batches:
        seen += batch["data"].to_pylist()
    assert seen == [b"a", b"b", b"c"]


def test_tables_are_opened_again_with_keys_that_were_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program renews the keys in its environment while it runs."""
    store = PubSub(None, str(tmp_path))
    table = store._tables.messages(store.create_topic("flights").uid).table
    tables = OpenTables(None)
    with tables.cached(table) as first, tables.cached(table) as again:
        assert again is first
    monkeypatch.setenv("AWS_SESSION_TOKEN", "renewed")
    with tables.cached(table) as renewed:
        assert renewed is not first


def test_the_console_tells_of_the_last_maintenance_of_each_kind(tmp_path: Path) -> None:
    """Of whichever topic it was."""
    clock = ManualClock(at(0))
    store = PubSub(None, str(tmp_path), clock=clock)
    client = TestClient(create_app(store, ConsoleAccess(), clock, root=str(tmp_path)), BASE)
    for name in ("first", "second", "third"):
        store.create_topic(name)
        store.publish(name, [b"a"])
    for _ in range(2):
        clock.advance(2 * 24 * HOUR)
        store.maintain()
        last = store.topic_history("second", 1)[0].time
        store.publish("second", [b"b"])
    page = words(client.get("/maintenance").text)
    assert f"Messages were deleted by retention (1) of second , {timestamp(last)}" in page


def test_the_bytes_of_a_large_topic_are_an_estimate_by_its_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/metrics.md: a sample is of "5 publishes that are stored, at equal steps"."""
    monkeypatch.setattr(sizes, "QUICK_FILE_BYTES", 0)
    store = PubSub(None, str(tmp_path), clock=ManualClock(at(0)))
    store.create_topic("flights")
    store.publish("flights", [b"x" * 10] * 90)
    store.publish("flights", [b"x" * 110] * 10)
    told = store.metrics("flights")
    # All five steps through 100 messages fall on the first publish.
    assert (told["byte_cost"], told.estimates) == (1000, frozenset({"byte_cost"}))
    assert store.metrics("flights", exact=True)["byte_cost"] == 2000


def test_a_publish_has_no_message_of_the_next_one_though_its_range_has_gaps(tmp_path: Path) -> None:
    """A message is absorbed once. The range of a DataFrame has more positions than messages."""
    store = PubSub(None, str(tmp_path), clock=ManualClock(at(0)))
    store.create_topic("flights")
    ids = [store.publish("flights", [b"a", b"b"]), store.publish("flights", [b"c", b"d"])]
    messages = store.tables.messages(store.get_topic("flights").uid)
    publishes = reversed(messages.history.commits_after(0).commits)
    of_frames = [replace(each, dense=False) for each in publishes if each.adds_messages]
    found = [[str(n) for n in messages.positions_of(each)] for each in of_frames]
    assert found == [list(each.message_ids) for each in ids]


@pytest.mark.parametrize("dense", [True, False])
def test_what_is_stored_of_many_publishes_is_looked_up_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dense: bool
) -> None:
    """A subscription that is a day behind goes on in seconds, also where retention has deleted
    messages meanwhile, or where DataFrames were published: a look takes a request of its storage.
    """
    store = PubSub(None, str(tmp_path), clock=ManualClock(at(0)))
    store.create_topic("flights")
    ids = [int(*store.publish("flights", [b"a"]).message_ids) for _ in range(5)]
    messages = store.tables.messages(store.get_topic("flights").uid)
    if dense:
        store.tables.lanes.control.delete(messages.table, [("position", "=", ids[2])])
    new = messages.history.commits_after(0)
    commits = [replace(each, dense=dense) for each in new.commits]
    looks: list[str] = []
    real = DirectLane.files

    def files(lane: DirectLane, table: str) -> list[DataFile]:
        looks.append(table)
        return real(lane, table)

    monkeypatch.setattr(DirectLane, "files", files)
    parts = messages.absorb(replace(new, commits=commits))
    assert len(looks) == 1
    found = [each for part in parts for each in part.positions]
    assert sorted(found) == [each for each in ids if not dense or each != ids[2]]
    assert len(parts) == len(found), "each part has the time of its own publish"


@pytest.mark.parametrize("seen", [True, False], ids=["known", "unseen"])
def test_what_an_operator_has_overwritten_stops_no_consumer(tmp_path: Path, seen: bool) -> None:
    """Delta: a WRITE with the mode Overwrite removes rows. Messages that were deleted are no
    longer delivered, and those that are stored still are.
    """
    store = PubSub(None, str(tmp_path))
    store.create_topic("flights")
    store.create_subscription("delays", "flights")
    store.publish("flights", [b"a", b"b", b"c"])
    if seen:
        assert [each.data for each in store.pull("delays", 1)] == [b"a"]
    path = tmp_path / "messages" / store.get_topic("flights").uid
    kept = DeltaTable(path).to_pyarrow_table().slice(2)
    write_deltalake(path, kept, mode="overwrite")
    store.publish("flights", [b"d"])
    batch = store.pull("delays")
    assert [each.data for each in batch] == [b"c", b"d"]
    batch.ack()
    assert store.metrics("delays")["num_undelivered_messages"] == 0


def test_a_search_up_to_a_time_has_what_was_published_at_it(tmp_path: Path) -> None:
    clock = ManualClock(at(0))
    store = PubSub(None, str(tmp_path), clock=clock)
    store.create_topic("flights")
    for data in (b"a", b"b", b"c"):
        store.publish("flights", [data])
        clock.advance(1)
    assert found(store, MessageQuery(latest=at(1))) == ["b", "a"]
    assert found(store, MessageQuery(earliest=at(1))) == ["c", "b"]
