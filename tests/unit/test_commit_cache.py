"""A topic's commits are read as its log has them, and each of them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.clock import UTC
from pubsub_delta.errors import DataLoss
from pubsub_delta.tables.lanes.protocol import DataFile, LoggedCommit, Where
from pubsub_delta.tables.messages import commits
from pubsub_delta.tables.messages.commits import (
    Commit,
    CommitCache,
    History,
    commit_of,
    publish_metadata,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


class Log:
    """The log of one table, ``made`` oldest first; ``looks`` are the calls that read it."""

    def __init__(self, count: int = 0, name: str = "direct") -> None:
        self.name = name
        self.made: list[LoggedCommit] = []
        self.first = 0
        self.looks: list[tuple[object, ...]] = []
        self.stored: list[DataFile] = []
        self.not_told: list[int] = []
        self._number = 0
        self.grow(count)

    def grow(self, count: int, operation: str | None = None) -> None:
        for _ in range(count):
            self._number += 1
            at = START + timedelta(seconds=self._number)
            text = publish_metadata(at, f"p{self._number}", self._number, self._number + 1, 1)
            entry = LoggedCommit(len(self.made), at, operation or "WRITE", {}, text)
            self.made.append(replace(entry, user_metadata=None) if operation else entry)

    def newest_first(self) -> list[Commit]:
        return [commit_of(each) for each in reversed(self.made)]

    def version(self, table: str) -> int:
        self.looks.append(("version",))
        return len(self.made) - 1

    def history(
        self, table: str, limit: int | None = None, newest: int | None = None
    ) -> list[LoggedCommit]:
        self.looks.append(("history", limit, newest))
        return self.made[self.first :][::-1][:limit]

    def files(self, table: str) -> list[DataFile]:
        return self.stored

    def read(self, table: str, where: Where, columns: Sequence[str]) -> pa.Table:
        ((_, comparison, bound),) = where
        assert comparison == ">"
        return pa.table({"position": pa.array([n for n in self.not_told if n > bound], pa.int64())})


def history_of(log: Log) -> History:
    return History(log, "messages", CommitCache())  # type: ignore[arg-type]


def read(cache: CommitCache, log: Log, count: int | None) -> list[Commit]:
    log.looks.clear()
    return cache.last(log, "messages", count)  # type: ignore[arg-type]


steps = st.one_of(
    st.tuples(st.sampled_from(["read"]), st.none() | st.integers(1, 9)),
    st.tuples(st.sampled_from(["others", "own", "cut", "older"]), st.integers(1, 4)),
)


@given(st.integers(1, 6), st.lists(steps, max_size=12))
def test_a_read_is_that_of_a_log_without_a_cache(
    count: int, taken: list[tuple[str, int | None]]
) -> None:
    log, cache = Log(count), CommitCache()
    for step, number in [*taken, ("read", 3), ("read", None)]:
        many = number or 0
        if step == "others":
            log.grow(many)
        elif step == "own":
            log.grow(1)
            cache.add("messages", commit_of(log.made[-1]))
        elif step == "cut":
            log.first = min(log.first + many, len(log.made) - 1)
        elif step == "older":  # an operator has brought back an older copy; it is noticed then
            del log.made[max(len(log.made) - many, log.first + 1) :]
            read(cache, log, None if many == 1 else many)
        else:
            found = read(cache, log, number)
            in_log = log.newest_first()
            assert found == in_log[: len(found)]
            left = len(log.made) - log.first
            assert len(found) == left if number is None else len(found) >= min(left, many)


@pytest.mark.parametrize("count", [1, 2, 5, None])
def test_a_first_read_takes_from_the_log_what_is_asked_for(count: int | None) -> None:
    log = Log(5)
    assert read(CommitCache(), log, count) == log.newest_first()[:count]
    assert log.looks == [("version",), ("history", count, 4)]


@pytest.mark.parametrize(
    ("count", "newer", "looks", "length"),
    [
        (3, 0, [], 3),
        (4, 0, [("history", 4, 9)], 4),
        (3, 2, [("history", 2, 11)], 5),
        (5, 2, [("history", 2, 11)], 5),
        (6, 2, [("history", 6, 11)], 6),
        (None, 0, [("history", None, 9)], 10),
    ],
)
def test_a_later_read_takes_from_the_log_what_is_not_known(
    count: int | None, newer: int, looks: list[tuple[object, ...]], length: int
) -> None:
    log, cache = Log(10), CommitCache()
    read(cache, log, 3)
    log.grow(newer)
    found = read(cache, log, count)
    assert found == log.newest_first()[:length]
    assert log.looks == [("version",), *looks]
    assert read(cache, log, length) == found
    assert log.looks == [("version",)]


def test_a_log_that_is_known_whole_is_not_read_for_more_than_it_has() -> None:
    log, cache = Log(3), CommitCache()
    read(cache, log, 20)
    assert read(cache, log, 20) == log.newest_first()
    assert log.looks == [("version",)]
    log.first = 1
    cut = CommitCache()
    read(cut, log, 20)
    assert len(read(cut, log, 20)) == 2
    assert log.looks == [("version",), ("history", 20, 2)]


def test_commits_that_the_log_has_lost_meanwhile_leave_no_gap() -> None:
    log, cache = Log(3), CommitCache()
    read(cache, log, 2)
    log.grow(5)
    log.first = 6
    assert [each.version for each in read(cache, log, 2)] == [7, 6]
    assert log.looks == [("version",), ("history", 5, 7), ("history", 2, None)]


def test_spark_is_asked_once_a_read_whatever_the_length() -> None:
    log, cache = Log(4, "spark"), CommitCache()
    for count in (2, 2, None):
        assert read(cache, log, count) == log.newest_first()[:count]
        assert log.looks == [("history", count, None)]


def test_no_more_commits_are_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "_MAX_CACHED", 3)
    log, cache = Log(9), CommitCache()
    assert len(read(cache, log, 5)) == 5
    log.grow(1)
    cache.add("messages", commit_of(log.made[-1]))
    assert read(cache, log, 3) == log.newest_first()[:3]
    assert log.looks == [("version",)]
    read(cache, log, 4)
    assert log.looks == [("version",), ("history", 4, 9)]


def test_an_own_commit_is_known_only_behind_the_last_known_one() -> None:
    log, cache = Log(3), CommitCache()
    cache.add("messages", commit_of(log.made[-1]))
    read(cache, log, 1)
    assert log.looks == [("version",), ("history", 1, 2)]
    log.grow(2)
    cache.add("messages", commit_of(log.made[-1]))
    assert [each.version for each in read(cache, log, 3)] == [4, 3, 2]
    assert log.looks == [("version",), ("history", 2, 4)]


@pytest.mark.parametrize(("at_least", "looks"), [(-1, 1), (4, 1), (5, 2)])
def test_a_version_is_asked_for_again_only_below_one_that_is_known(
    at_least: int, looks: int
) -> None:
    log = Log(5)
    assert history_of(log).version(at_least) == 4
    assert log.looks == [("version",)] * looks


@pytest.mark.parametrize(("behind", "reads"), [(0, [20]), (20, [20]), (21, [20, 21])])
def test_commits_after_a_version_are_read_once_up_to_twenty(behind: int, reads: list[int]) -> None:
    log = Log(40)
    found = history_of(log).commits_after(39 - behind)
    assert [each.version for each in found.commits] == list(range(39, 39 - behind, -1))
    assert found.is_complete
    assert log.looks == [look for n in reads for look in [("version",), ("history", n, 39)]]


def test_commits_after_a_version_that_the_log_never_had_are_lost() -> None:
    log = Log(3)
    assert list(history_of(log).commits_after(2).commits) == []
    with pytest.raises(DataLoss, match="its last commit is 2, and a subscription has read 3"):
        history_of(log).commits_after(3)


@pytest.mark.parametrize(("count", "searched"), [(1, True), (256, True), (257, False)])
def test_publishes_within_a_time_are_searched_among_256_commits(count: int, searched: bool) -> None:
    log = Log(count)
    found = history_of(log).publishes_within(START, START + timedelta(days=1))
    assert found == (log.newest_first() if searched else None)


@pytest.mark.parametrize(
    ("publishes", "others", "lost", "stored", "not_told", "end"),
    [
        (2, 0, 0, [9], [], 3),
        (2, 30, 0, [9], [], 3),
        (0, 2, 0, [9], [], 0),
        (1, 2, 1, [3, 7, 5], [], 8),
        (1, 2, 1, [], [], 0),
        (2, 30, 2, [7, None, 3], [9, 8], 10),
        (2, 30, 2, [7, None, 3], [5], 8),
        (2, 30, 2, [None], [0], 1),
    ],
)
def test_positions_go_on_behind_the_highest_that_was_given(
    publishes: int,
    others: int,
    lost: int,
    stored: list[int | None],
    not_told: list[int],
    end: int,
) -> None:
    """The log tells, or else the files by their statistics, or else what they hold."""
    log = Log(publishes)
    log.grow(others, "OPTIMIZE")
    log.first = lost
    log.stored = [DataFile(1, 1, None, each, each, None, None) for each in stored]
    log.not_told = not_told
    assert history_of(log).highest_end() == end


def test_a_publish_that_tells_nothing_but_its_time() -> None:
    logged = LoggedCommit(7, START, "WRITE", {"num_added_rows": 4}, '{"publish_time": 5}')
    at = datetime(1970, 1, 1, microsecond=5, tzinfo=UTC)
    assert commit_of(logged) == Commit(7, at, None, 4, True, False, 0, 0, False)


def test_a_publish_that_tells_all_of_its_positions() -> None:
    text = publish_metadata(START, "p", 8, 11, 3)
    logged = LoggedCommit(7, START, "WRITE", {"num_added_rows": 4}, text)
    assert commit_of(logged) == Commit(7, START, "p", 3, True, False, 8, 11, True)
