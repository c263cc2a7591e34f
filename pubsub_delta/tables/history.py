"""The commits of a topic, as its table's history tells them: what is new, and since when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.clock import from_micros
from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.damage import telling_damage
from pubsub_delta.tables.log import Log, LoggedCommit, Told
from pubsub_delta.tables.past import FORGETTING
from pubsub_delta.tables.remembered import Remembered

_FIRST_LOOK = 20
"""Commits asked for when looking for what is new; most consumers are not further behind."""
_FEW = 256
"""So many commits are looked through, where a scan of messages is the other way."""


@dataclass(frozen=True)
class Commit:
    """A commit of a topic, as the table's history tells it.

    ``publish_time`` and ``publish_id`` are None where the commit is not a publish. A commit
    ``moves_messages`` if it may have rewritten files, so that rows no longer stand where they did.
    """

    version: int
    publish_time: datetime | None
    publish_id: str | None
    message_count: int
    adds_messages: bool
    moves_messages: bool

    def may_be(self, earliest: datetime | None, before: datetime | None) -> bool:
        """Tell whether it may hold messages published in [earliest, before)."""
        time = self.publish_time
        return time is None or not (
            (earliest is not None and time < earliest) or (before is not None and time >= before)
        )


class History:
    """The commits of one topic, of the last 8 days or as many as maintenance has left."""

    def __init__(self, spark: SparkSession, table: str, remembered: Remembered) -> None:
        self._spark = spark
        self._table = table
        self._remembered = remembered
        self._log = Log(spark, table, remembered)
        self._seen: list[Commit] = []

    def version(self) -> int:
        """Return the version of the last commit."""
        return self._read(1)[0].version

    def newest_version(self) -> int:
        """Return the version of the last commit as of the last look at the history."""
        return self._seen[0].version if self._seen else self.version()

    def is_newest(self, version: int) -> bool:
        """Tell whether a version was the newest as of the last look, if there was one."""
        return bool(self._seen) and self._seen[0].version == version

    def commits_after(self, version: int) -> tuple[list[Commit], bool]:
        """Return the commits after a version, the newest first, and whether they are all known.

        The history of a table is forgotten after 8 days, or earlier by ``maintain``; a subscription
        may have slept for longer. DataLoss if there was no such version.
        """
        seen = self._read(_FIRST_LOOK)
        behind = seen[0].version - version
        if behind < 0:
            raise DataLoss(
                f"{self._table}: its last commit is {seen[0].version}, and a subscription has seen "
                f"{version}; commits of its log are gone: restore them, or the table from a copy"
            )
        if behind > len(seen):
            seen = self._read(behind)
        new = [commit for commit in seen if commit.version > version]
        return new, len(new) == max(behind, 0)

    def published_as(self, publish_id: str) -> Commit | None:
        """Return the commit that carries a publish id, or None.

        Who asks has just published, so nothing that is remembered holds; and it is probably the
        commit after the last one that was seen. On disk, to look at the last ones costs nothing.
        """
        last = self._remembered.last_seen(self._table)
        on_disk = self._remembered.directory(self._table) is not None
        likely = [] if last is None or on_disk else self._logged([last + 1])
        if likely and likely[0].publish_id == publish_id:
            self._remembered.saw(self._table, likely[0].version)
            return likely[0]
        for limit in (_FIRST_LOOK, None):
            history = self._look(limit)
            found = next((c for c in history if c.publish_id == publish_id), None)
            if found is not None or len(history) < _FIRST_LOOK:
                return found
        return None

    def publishes_within(self, earliest: datetime, latest: datetime) -> list[Commit] | None:
        """Return the publishes that were stamped between two times.

        None where it cannot be told, or not quickly: there are many commits, one that added
        messages has no stamp, or messages may have been deleted.
        """
        behind = self.newest_version() + 1
        commits = self._read(max(behind, _FIRST_LOOK)) if behind <= _FEW else []
        if not commits or commits[-1].version > 0 or any(each.moves_messages for each in commits):
            return None
        adding = [commit for commit in commits if commit.adds_messages]
        stamped = [(each, each.publish_time) for each in adding if each.publish_time is not None]
        if len(stamped) < len(adding):
            return None
        return [each for each, time in stamped if earliest <= time <= latest]

    def rows_added(self, publishes: Sequence[Commit]) -> dict[int, Positions]:
        """Return the rows that publishes wrote, by version, of those of which the log tells them.

        Nobody has asked whether they still stand there.
        """
        asked = {_rows_of(each): each.version for each in publishes}

        def find(unknown: list[_Question]) -> dict[_Question, Positions]:
            read = self._log.commits([asked[question] for question in unknown])
            return _told(read)

        found = self._remembered.facts(self._table, list(asked), find)
        return {asked[question]: rows for question, rows in found.items()}

    def _logged(self, versions: Sequence[int]) -> list[Commit]:
        """Return commits as the log tells them, and remember which rows they have added."""
        read = self._log.commits(versions)
        told = _told(read)
        self._remembered.facts(self._table, list(told), lambda _: told)
        return [_commit(each.version, each.info) for each in read]

    def reaches_back_to(self, time: datetime) -> bool:
        """Tell whether a commit of that time must be known: the first one is, or an older one."""
        history = self._read()
        return history[-1].version == 0 or any(
            commit.publish_time is not None and commit.publish_time < time for commit in history
        )

    def first_publish_after(self, version: int) -> tuple[datetime | None, bool]:
        """Return the earliest stamp of the commits after a version, and whether all are known."""
        commits, known = self.commits_after(version)
        adding = [commit.publish_time for commit in commits if commit.adds_messages]
        stamps = [stamp for stamp in adding if stamp is not None]
        return min(stamps, default=None), known and len(stamps) == len(adding)

    def version_at(self, time: datetime) -> int:
        """Return the last version before the first publish that was stamped after a time."""
        history = self._read()
        later = [c.version for c in history if c.publish_time is not None and c.publish_time > time]
        return min(later) - 1 if later else history[0].version

    def first_version_since(self, time: datetime) -> int | None:
        """Return a version before which nothing was committed that was published since a time.

        None where the history does not reach back far enough to tell.
        """
        history = self._read()
        if history[-1].version > 0:
            return None
        adding = [commit for commit in history if commit.adds_messages]
        later = [c.version for c in adding if c.publish_time is None or c.publish_time >= time]
        return min(later, default=history[0].version)

    def told(self, limit: int | None = None) -> list[Row]:
        """Return what Delta tells of the last commits, newest first; None means of all.

        Columns: version, micros (when Delta committed it, since 1970), operation,
        operationMetrics, userMetadata.
        """
        micros = F.unix_micros("timestamp").alias("micros")
        columns = ("version", micros, "operation", "operationMetrics", "userMetadata")
        return self._described(limit, *columns)

    def _read(self, limit: int | None = None) -> list[Commit]:
        asked = ("history", limit)
        commits = self._remembered.recall(self._table, asked, lambda: self._look(limit))
        self._seen = commits
        return commits

    def _look(self, limit: int | None) -> list[Commit]:
        told = None if limit is None else self._log.last(limit)
        if told is None:
            told = [(row["version"], row) for row in self._described(limit)]
        commits = [_commit(version, info) for version, info in told]
        self._remembered.saw(self._table, commits[0].version)
        return commits

    def _described(self, limit: int | None, *columns: str | Column) -> list[Row]:
        bound = f" LIMIT {limit:d}" if limit else ""
        with telling_damage(self._table):
            told = self._spark.sql(f"DESCRIBE HISTORY {self._table}{bound}")
            return (told.select(*columns) if columns else told).collect()


_PUBLISH = "WRITE"
_LEAVES_ROWS = frozenset({"CREATE TABLE", "VACUUM START", "VACUUM END", *FORGETTING})
_ADDS_NONE = frozenset({*_LEAVES_ROWS, "OPTIMIZE", "DELETE"})
"""Delta's names of operations that add no message; an unknown one is taken to add some."""


def _commit(version: int, told: Told) -> Commit:
    """Return a commit by operation, operationMetrics and userMetadata, as Delta tells them."""
    mark = mark_of(told["userMetadata"])
    metrics: dict[str, str] = told["operationMetrics"] or {}
    stamp = mark.get("publish_time")
    return Commit(
        version=version,
        publish_time=from_micros(stamp) if isinstance(stamp, int) else None,
        publish_id=mark.get("publish_id"),
        message_count=int(metrics.get("numOutputRows", 0)),
        adds_messages=told["operation"] not in _ADDS_NONE,
        moves_messages=told["operation"] not in {_PUBLISH, *_LEAVES_ROWS},
    )


_Question = tuple[str, int, "str | None"]
"""What is asked of a publish, its version and its id."""


def _rows_of(publish: Commit) -> _Question:
    return "rows", publish.version, publish.publish_id


def _told(read: Sequence[LoggedCommit]) -> dict[_Question, Positions]:
    """Return the rows of those commits of which as many are told as were written."""
    commits = [(_commit(each.version, each.info), each.rows) for each in read]
    return {
        _rows_of(commit): rows
        for commit, rows in commits
        if rows is not None and len(rows) == commit.message_count
    }


def mark_of(user_metadata: str | None) -> dict[str, Any]:
    """Return what a publish wrote into its commit's user metadata; nothing in any other."""
    try:
        mark = json.loads(user_metadata or "{}")
    except ValueError:
        return {}
    return mark if isinstance(mark, dict) else {}
