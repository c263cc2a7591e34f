"""Rows that several callers remove from a table at the same time, removed in one commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime

from pubsub_delta.tables.commits import Commits


@dataclass(frozen=True)
class Removal:
    """A row to be removed, by uid, when that was asked for, and whether it was there."""

    uid: str
    time: datetime | None
    was_there: Future[bool] = field(default_factory=Future)


class Removals:
    """Removes rows of a table. Whoever comes while a commit runs goes into the next one.

    Args:
        commits: what writes to the table.
        table: the table, as it is named in SQL.
        there: tells which of some uids are there.
        remove: removes rows in one commit, and returns how many of them were there; DELETE if not
            given.
    """

    def __init__(
        self,
        commits: Commits,
        table: str,
        there: Callable[[list[str]], Collection[str]],
        remove: Callable[[list[Removal]], int] | None = None,
    ) -> None:
        self._commits = commits
        self._table = table
        self._there = there
        self._remove = remove or self._delete
        self._turn = threading.Lock()
        self._waiting: list[Removal] = []
        self._lock = threading.Lock()

    def remove(self, uid: str, time: datetime | None = None) -> bool:
        """Remove a row; tell whether it was still there. What went wrong goes to every caller."""
        asked = Removal(uid, time)
        with self._lock:
            self._waiting.append(asked)
        with self._turn:
            if not asked.was_there.done():
                self._commit()
        return asked.was_there.result()

    def _commit(self) -> None:
        with self._lock:
            together, self._waiting = self._waiting, []
        first = {each.uid: each for each in reversed(together)}
        try:
            found = self._removed(list(first.values()))
        except BaseException as error:
            for each in together:
                each.was_there.set_exception(error)
            return
        for each in together:
            each.was_there.set_result(each.uid in found and first[each.uid] is each)

    def _delete(self, rows: list[Removal]) -> int:
        return self._commits.delete(self._table, [each.uid for each in rows])

    def _removed(self, rows: list[Removal]) -> Collection[str]:
        """Remove rows; return the uids of those that were there."""
        if len(rows) == 1:
            return [rows[0].uid] if self._remove(rows) else []
        with self._commits.locked(self._table):
            there = self._there([each.uid for each in rows])
            found = [each for each in rows if each.uid in there]
            if found:
                self._remove(found)
        return there
