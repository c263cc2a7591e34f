"""Removals that are asked for while a commit runs go together into the next one."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from pubsub_delta.tables.commits import Commits, Conflict
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.removals import Removal, Removals


class Table:
    """A table as a set of uids, and the first of whose commits waits."""

    def __init__(self, directory: Path, *uids: str) -> None:
        self.uids = set(uids)
        self.commits: list[list[str]] = []
        self.begun, self.go_on = Event(), Event()
        self.fails_with: BaseException | None = None
        layout = layout_of(str(directory))
        commits = Commits(cast(Any, None), cast(Any, None), layout)
        self.removals = Removals(commits, layout.topics, self.there, self.remove)
        self.threads = ThreadPoolExecutor(10)

    def remove(self, rows: list[Removal]) -> int:
        self.commits.append(sorted(row.uid for row in rows))
        self.begun.set()
        assert self.go_on.wait(10)
        if self.fails_with is not None:
            raise self.fails_with
        found = self.uids & {row.uid for row in rows}
        self.uids -= found
        return len(found)

    def there(self, uids: list[str]) -> set[str]:
        return self.uids & set(uids)

    def ask(self, *uids: str) -> list[Future[bool]]:
        """Ask for one removal, and for the others while that one is being committed."""
        first = self.threads.submit(self.removals.remove, uids[0])
        assert self.begun.wait(10)
        others = [self.threads.submit(self.removals.remove, uid) for uid in uids[1:]]
        _until(lambda: len(self.removals._waiting) == len(others))
        self.go_on.set()
        return [first, *others]


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_is_asked_for_while_a_commit_runs_goes_into_the_next_one(tmp_path: Path) -> None:
    table = Table(tmp_path, *"abcdefg")
    assert [each.result() for each in table.ask(*"abcdef")] == [True] * 6
    assert table.commits == [["a"], [*"bcdef"]]
    assert table.uids == {"g"}


def test_of_several_who_remove_the_same_row_one_is_told_that_it_was_there(tmp_path: Path) -> None:
    table = Table(tmp_path, *"ab")
    told = [each.result() for each in table.ask(*"abbb")]
    assert sorted(told[1:]) == [False, False, True]
    assert table.commits == [["a"], ["b"]]


def test_a_row_that_is_not_there_is_told_to_whoever_asked_for_it(tmp_path: Path) -> None:
    table = Table(tmp_path, *"ab")
    assert [each.result() for each in table.ask(*"xyb")] == [False, False, True]
    assert table.commits == [["x"], ["b"]]


def test_nothing_is_committed_where_none_of_several_is_there(tmp_path: Path) -> None:
    table = Table(tmp_path, "a")
    assert [each.result() for each in table.ask(*"axy")] == [True, False, False]
    assert table.commits == [["a"]]


def test_what_went_wrong_is_told_to_everyone_of_that_commit_and_to_nobody_else(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path, *"abc")
    table.fails_with = Conflict("somebody was faster")
    for each in table.ask(*"abc"):
        with pytest.raises(Conflict):
            each.result()
    table.fails_with = None
    assert table.removals.remove("a")
    assert not table.removals.remove("a")
