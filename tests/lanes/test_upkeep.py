"""Upkeep: files are joined, the past stays short, and a lock keeps others away meanwhile."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import deltalake
import pytest
from deltalake import DeltaTable, write_deltalake

from pubsub_delta import ManualClock, PubSub, SystemClock
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.lanes.direct import DirectLane
from pubsub_delta.tables.lanes.direct.errors import translating_errors
from pubsub_delta.tables.lanes.direct.maintenance import join_small_files
from pubsub_delta.tables.lanes.direct.table_snapshots import TableSnapshot
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.schemas import (
    CHECKPOINT_INTERVAL,
    MESSAGES,
    POSITIONS,
)
from tests.lanes.builders import (
    CAS,
    column,
    next_position,
    numbers,
    shortlived,
    topic,
)
from tests.lanes.conftest import Bench


def test_small_files_become_one(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), *(numbers(n, 1) for n in range(5)))
    assert bench.lane.compact(table) == 5
    assert bench.lane.compact(table) == 0
    assert len(bench.lane.files(table)) == 1
    assert sorted(column(bench.lane.read(table), "position")) == list(range(5))


def test_of_two_that_join_the_same_files_one_does(bench: Bench) -> None:
    """Delta: who removes a file that another commit has removed meanwhile conflicts with that.

    Else both results would be in the table, and each message would be there twice.
    """
    table = topic(bench.lane, bench.table("messages", "0"), *(numbers(n, 1) for n in range(5)))
    one, other = (DeltaTable(str(bench.path("messages", "0"))) for _ in range(2))
    join_small_files(one)
    bench.lane.append(table, numbers(5, 1), "")
    with pytest.raises(Conflict), translating_errors(table):
        join_small_files(other)
    assert sorted(column(bench.lane.read(table), "position")) == list(range(6))


def test_by_a_deltalake_that_doubles_rows_no_files_are_joined(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody may have installed it over the one that ``pyproject.toml`` allows."""
    table = topic(bench.lane, bench.table("messages", "0"), *(numbers(n, 1) for n in range(5)))
    for version in ("1.6.4", "1.6.10rc1", "2.0"):
        monkeypatch.setattr(deltalake, "__version__", version)
        with pytest.raises(FailedPrecondition, match=f"deltalake {version}: by it two"):
            bench.lane.compact(table)
    for number in range(5, CHECKPOINT_INTERVAL + 1):  # and each publish lands
        bench.lane.append(table, numbers(number, 1), "")
    assert len(bench.lane.files(table)) == CHECKPOINT_INTERVAL + 1


def test_who_publishes_joins_small_files_now_and_then(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"))
    for number in range(CHECKPOINT_INTERVAL + 5):
        bench.lane.append(table, numbers(number, 1), "")
    assert len(bench.lane.files(table)) < 10
    assert sorted(column(bench.lane.read(table), "position")) == list(
        range(CHECKPOINT_INTERVAL + 5)
    )


def test_an_ack_states_past_stays_short(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("ack_state", "0")
    lane.create(table, shortlived(POSITIONS), next_position(0))
    for value in range(2 * CHECKPOINT_INTERVAL + 20):
        assert lane.merge(table, next_position(value + 1, was=value), CAS) == 1
    assert len(list(bench.path("ack_state", "0").rglob("*.json"))) < 2 * CHECKPOINT_INTERVAL
    assert len(list(bench.path("ack_state", "0").glob("*.parquet"))) < CHECKPOINT_INTERVAL
    assert column(bench.another()[0].read(table), "next_position") == [220]


def test_no_commit_lists_the_log_for_expired_ones_but_each_hundredth(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``deltalake`` asks for the status of every file: 20 ms of 40 in a log of 1,800 files."""
    told: list[object] = []

    def noted(*args: Any, **options: Any) -> None:
        told.append(options["post_commithook_properties"].cleanup_expired_logs)
        write_deltalake(*args, **options)

    monkeypatch.setattr("pubsub_delta.tables.lanes.direct.commits.write_deltalake", noted)
    lane, table = bench.lane, bench.table("positions")
    lane.create(table, POSITIONS, next_position(0))
    assert lane.merge(table, next_position(1, was=0), CAS) == 1
    assert told == ([False] if isinstance(lane, DirectLane) else [])


def test_the_log_is_cleaned_and_told_as_far_as_it_goes(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("messages", "0")
    lane.create(table, MESSAGES)
    for number in range(6):
        lane.append(table, numbers(number, 1), f"{number}")
    log = bench.path("messages", "0", "_delta_log")
    for file in log.iterdir():
        os.utime(file, (0, 0))
    removed = lane.clean_log(table, timedelta(days=8))
    left = len(lane.history(table))
    assert left + removed == 7
    assert removed > 0
    lane.append(table, numbers(6, 1), "6")
    assert lane.clean_log(table, timedelta(days=8)) == 0, "what is young stays"
    told = lane.history(table)
    assert 0 < len(told) < 8
    assert [commit.version for commit in told] == list(range(7, 7 - len(told), -1))
    assert told[0].user_metadata == "6"
    assert sorted(column(lane.read(table), "position")) == list(range(7))


def test_how_long_the_log_is_kept_can_be_changed(bench: Bench) -> None:
    lane, table = bench.lane, topic(bench.lane, bench.table("messages", "0"), numbers(0, 1))
    for _ in range(2):
        lane.clean_log(table, timedelta(hours=36))
        opened = DeltaTable(str(bench.path("messages", "0")))
        kept = opened.metadata().configuration["delta.logRetentionDuration"]
        assert kept == "interval 129600 seconds"
        assert (opened.version(), opened.protocol().min_writer_version) == (2, 2)


def test_vacuum_removes_what_no_version_needs(bench: Bench) -> None:
    lane, table = bench.lane, bench.table("messages", "0")
    lane.create(table, shortlived(MESSAGES))
    for number in range(4):
        lane.append(table, numbers(number, 1), "")
    lane.compact(table)
    lane.vacuum(table)
    assert len(list(bench.path("messages", "0").rglob("publish_date=*/*.parquet"))) == 1


def test_a_read_survives_a_vacuum(bench: Bench) -> None:
    """The files that a snapshot lists are gone, and those that replaced them are read."""
    lane, table = bench.lane, bench.table("messages", "0")
    lane.create(table, shortlived(MESSAGES))
    for number in range(4):
        lane.append(table, numbers(number, 1), "")
    assert isinstance(lane, DirectLane)
    calls: list[TableSnapshot] = []

    def read(snapshot: TableSnapshot) -> list[int]:
        calls.append(snapshot)
        if len(calls) == 1:
            other = bench.another()[0]
            other.compact(table)
            other.vacuum(table)
        return sorted(column(snapshot.rows((), ["position"]), "position"))

    assert lane.open_tables.read(table, read) == [0, 1, 2, 3]
    assert len(calls) == 2


def test_a_locked_table_is_a_conflict_for_who_does_not_wait(bench: Bench) -> None:
    table, other = bench.table("topics"), bench.another()[0]
    with (
        bench.lane.locked(table),
        bench.lane.locked(table, wait=False),
        pytest.raises(Conflict),
        other.locked(table, wait=False),
    ):
        pass
    with other.locked(table, wait=False):
        pass


def test_a_dry_run_tells_how_many_commits_would_go_and_removes_none(tmp_path: Path) -> None:
    """ "`dry_run`: do nothing, and tell what would be done": a log that is cut stays cut."""
    clock = ManualClock(SystemClock().now())
    store = PubSub(None, str(tmp_path / "store"), clock=clock)
    store.create_topic("orders")
    for _ in range(3):
        store.publish("orders", [b"a"])
    log = tmp_path / "store" / "messages" / store.get_topic("orders").uid / "_delta_log"
    before = sorted(each.name for each in log.iterdir())
    clock.advance(10 * 86_400)
    told = store.maintain(dry_run=True, log_retention="1d")
    assert list(told.forgotten.values()) == [3]
    assert sorted(each.name for each in log.iterdir()) == before
