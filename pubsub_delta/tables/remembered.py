"""What was read of tables, remembered for as long as nobody commits to them, or for good."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession
from tenacity import nap

from pubsub_delta.clock import uptime
from pubsub_delta.session import is_remote
from pubsub_delta.tables.commits import expected_errors
from pubsub_delta.tables.damage import telling_damage
from pubsub_delta.tables.layout import on_disk, path_of
from pubsub_delta.tables.log_on_disk import Newest, newest

T = TypeVar("T")
Question = TypeVar("Question", bound=Hashable)
Mark = Hashable

SETTLED = 2.0
"""Seconds for which a mark must have stood where files have their times in whole seconds."""
TICK = 0.02
"""Seconds for which one must have stood where they have finer times: twice what clocks of files,
which tick slower than they count, take for a tick at most."""
MANY_FILES = 4_000
"""From so many files of a table on, Delta puts its state together sooner by generated code."""
MOST_FACTS = 10_000
"""Facts that are kept; beyond it the one that was found out first is forgotten."""


@dataclass
class _Known:
    """A table's mark, how long it must stand, since when it does, and what was read under it."""

    mark: Mark
    settles_in: float
    since: float
    answers: dict[Hashable, Any] = field(default_factory=dict)


class Remembered:
    """Answers of tables that nobody has committed to since they were read.

    On the driver's disk a table's mark is the file of its last commit, of which there is no other.
    Elsewhere it is when the last commit was written, and how many files the table has of what size.
    To look at it takes no Spark job. Two commits in quick succession may have the same one, in some
    object stores within a second. So an answer is remembered only if it was read when the mark had
    stood for a while, a tick of which is waited for: whatever is committed after that has a later
    one.

    ``many_files``: the session for tables of more than ``MANY_FILES``, where that is another one.
    """

    def __init__(
        self,
        spark: SparkSession,
        uptime: Callable[[], float] = uptime,
        sleep: Callable[[float], None] = nap.sleep,
        many_files: SparkSession | None = None,
    ) -> None:
        self._spark = spark
        self._for_many_files = many_files if many_files is not None else spark
        self._uptime = uptime
        self._sleep = sleep
        self._tables: dict[str, _Known] = {}
        self._facts: dict[Hashable, Any] = {}
        self._last_seen: dict[str, int] = {}
        self._is_on_disk: dict[str, bool] = {}
        self._files: dict[str, int] = {}
        self._lock = threading.Lock()

    def recall(self, table: str, question: Hashable, read: Callable[[], T]) -> T:
        """Return what was read before, if the table stands as it did then; otherwise read it."""
        marked = self._marked(table)
        if marked is None:
            return read()
        mark, settles_in = marked
        known = self._tables.get(table)
        if known is None or known.mark != mark:
            known = self._tables[table] = _Known(mark, settles_in, self._uptime())
        if question in known.answers:
            answer: T = known.answers[question]
            return answer
        missing = known.since + known.settles_in - self._uptime()
        if 0 < missing <= TICK:
            self._sleep(missing)
            missing = 0
        answer = read()
        if missing <= 0:
            known.answers[question] = answer
        return answer

    def facts(
        self,
        table: str,
        questions: Sequence[Question],
        find: Callable[[list[Question]], Mapping[Question, T]],
    ) -> dict[Question, T]:
        """Return what was found out before about a table's past, which no commit changes.

        A few numbers each. What is not known is found out together.
        """
        with self._lock:
            known = {q: self._facts[table, q] for q in questions if (table, q) in self._facts}
        unknown = [question for question in questions if question not in known]
        if not unknown:
            return known
        found = find(unknown)
        with self._lock:
            self._facts.update({(table, question): fact for question, fact in found.items()})
            for oldest in list(self._facts)[: max(0, len(self._facts) - MOST_FACTS)]:
                del self._facts[oldest]
        return {**known, **found}

    def saw(self, table: str, version: int) -> None:
        """Take note of a version that a table has had."""
        with self._lock:
            self._last_seen[table] = max(version, self._last_seen.get(table, version))

    def last_seen(self, table: str) -> int | None:
        """Return the last version that was seen, or None; there may be later ones by now."""
        return self._last_seen.get(table)

    def newest(self, table: str) -> Newest | None:
        """Return the last commit of a table on this disk; None where Spark is to be asked."""
        directory = self.directory(table)
        found = None if directory is None else newest(directory, self.last_seen(table))
        if found is not None:
            self.saw(table, found.version)
        return found

    def directory(self, table: str) -> Path | None:
        """Return where a table is on this disk; None where it is not there, or perhaps not.

        Spark may take a path for one of another file system. So Delta is asked once for each table;
        it also reads the table's log then, which the first publish to it would wait for.
        """
        path = path_of(table)
        local = None if path is None or is_remote(self._spark) else on_disk(path)
        if local is None or not os.path.isdir(f"{local}/_delta_log"):
            return None
        if table not in self._is_on_disk:
            detail = self.look(table)
            if detail is None:
                return None
            self._is_on_disk[table] = on_disk(detail["location"]) == local
        return Path(local) if self._is_on_disk[table] else None

    def _marked(self, table: str) -> tuple[Mark, float] | None:
        """Return a table's mark, and how long it must stand; None where there is no such table."""
        newest = self.newest(table)
        if newest is not None:
            return newest, 0
        detail = self.look(table)
        return None if detail is None else (_mark(detail), _settles_in(detail))

    def look(self, table: str) -> Row | None:
        """Return what Delta tells of a table; None where there is no such table.

        Delta puts the table's state together for it, 0.3 s after a commit and no time otherwise.
        """
        many = self._files.get(table, 0) > MANY_FILES
        spark = self._for_many_files if many else self._spark
        try:
            with expected_errors(), telling_damage(table):
                detail = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]
        except AnalysisException:
            return None
        self._files[table] = detail["numFiles"] or 0
        return None if detail["lastModified"] is None else detail


def _mark(detail: Row) -> Mark:
    written = detail["lastModified"]
    return detail["id"], written, written.fold, detail["numFiles"], detail["sizeInBytes"]


def _settles_in(detail: Row) -> float:
    """Return how long a mark must stand: a time within a second was told by a finer clock."""
    return TICK if detail["lastModified"].microsecond else SETTLED
