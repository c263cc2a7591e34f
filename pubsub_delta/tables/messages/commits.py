"""The commits of a topic, read from its table's history: which messages are new.

A publish writes its publish time, its id and its range of positions into the metadata of its
commit. So the messages that a commit added are known without opening a file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Any

import pyarrow.compute as pc

from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.errors import DataLoss
from pubsub_delta.tables.lanes.protocol import Lane, LoggedCommit, Where

_FIRST_READ = 20
"""The commits to read first to find new ones; most consumers are not further behind."""
_FEW = 256
"""The most commits to search; the alternative is a scan of messages."""
_MAX_CACHED = 10_000
"""Commits of a topic that are kept in memory."""


@dataclass(frozen=True)
class Commit:
    """A commit of a topic.

    ``publish_time`` and ``publish_id`` are None if the commit is not a publish. ``message_count``:
    how many messages it added. A commit ``removes_messages`` if messages that earlier commits added
    may be gone since. A publish has positions from ``first_position`` on, all below
    ``end_position``; it has every one of them if it is ``dense``. ``discards_before``: retention
    announces by this commit that it deletes what was published before that time and is committed by
    now; None if it announces nothing. A commit ``restores`` if an operator has the table as it was
    at an earlier version: what was announced before that is void.
    """

    version: int
    publish_time: datetime | None
    publish_id: str | None
    message_count: int
    adds_messages: bool
    removes_messages: bool
    first_position: int = 0
    end_position: int = 0
    dense: bool = False
    discards_before: datetime | None = None
    restores: bool = False

    def may_add(self, earliest: datetime | None, before: datetime | None) -> bool:
        """Tell whether it added messages that may be published in [earliest, before)."""
        time = self.publish_time
        if not self.adds_messages or time is None:
            return False
        return (earliest is None or earliest <= time) and (before is None or time < before)


@dataclass(frozen=True)
class NewCommits:
    """The commits of a topic after a version, the newest first.

    ``is_complete``: whether the log still has all of them; else nobody knows what the others did.
    ``removes_messages``: whether one of them has.
    """

    commits: Sequence[Commit]
    is_complete: bool
    removes_messages: bool

    @property
    def may_lack_messages(self) -> bool:
        """Whether messages may have been deleted since the version."""
        return not self.is_complete or self.removes_messages

    @property
    def first_publish_time(self) -> datetime | None:
        """The earliest publish time of them, None without a publish."""
        stamps = [each.publish_time for each in self.commits if each.publish_time is not None]
        return min(stamps, default=None)

    @property
    def discards_before(self) -> datetime | None:
        """The latest time that retention has announced, None without any."""
        since = takewhile(lambda each: not each.restores, self.commits)
        return max((each.discards_before for each in since if each.discards_before), default=None)

    def without_discarded(self) -> NewCommits:
        """Return them without the publishes whose deletion a later one announces."""
        kept: list[Commit] = []
        bound: datetime | None = None
        is_void = False
        for each in self.commits:
            is_void = is_void or each.restores
            if each.discards_before is not None and not is_void:
                bound = each.discards_before if bound is None else max(bound, each.discards_before)
            if bound is None or each.publish_time is None or each.publish_time >= bound:
                kept.append(each)
        return replace(self, commits=kept)

    def up_to(self, version: int) -> NewCommits:
        """Return those up to a version. What later ones removed is not there either."""
        return replace(self, commits=[each for each in self.commits if each.version <= version])


def new_commits(commits: Sequence[Commit], version: int) -> NewCommits:
    """Return those of some commits that came after a version."""
    new = [commit for commit in commits if commit.version > version]
    is_complete = not new or len(new) == new[0].version - version
    return NewCommits(new, is_complete, any(commit.removes_messages for commit in new))


def publish_metadata(
    publish_time: datetime, publish_id: str, first: int, end: int, count: int | None
) -> str:
    """Return the metadata of a publish's commit; ``count`` is None if not known."""
    metadata: dict[str, object] = {
        "publish_time": to_micros(publish_time),
        "publish_id": publish_id,
        "first_position": first,
        "end_position": end,
    }
    if count is not None:
        metadata["message_count"] = count
    return json.dumps(metadata)


class CommitCache:
    """The commits of topics that this process has read or made. A commit never changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_table: dict[str, list[Commit]] = {}

    def last(self, lane: Lane, table: str, count: int | None) -> list[Commit]:
        """Return the last commits, newest first: at least ``count``, if the log has so many."""
        if lane.name == "spark":  # each query of the history is two jobs, for any length
            return _read(lane, table, count)
        version = lane.version(table)
        with self._lock:
            cached = self._by_table.get(table, [])
        behind = version - cached[0].version if cached else -1
        reaches_back = bool(cached) and cached[-1].version == 0
        enough = count is not None and (behind + len(cached) >= count or reaches_back)
        if behind < 0 or not enough:
            cached = _read(lane, table, count, version)
        elif behind:
            newer = _read(lane, table, behind, version)
            fresh = [each for each in newer if each.version > cached[0].version]
            joins = bool(fresh) and fresh[-1].version == cached[0].version + 1
            cached = [*fresh, *cached] if joins else _read(lane, table, count)
        with self._lock:
            self._by_table[table] = cached[:_MAX_CACHED]
        return cached

    def add(self, table: str, commit: Commit) -> None:
        """Cache a commit that this process has just made, if it follows the last cached one."""
        with self._lock:
            cached = self._by_table.get(table)
            if cached and cached[0].version + 1 == commit.version:
                self._by_table[table] = [commit, *cached[: _MAX_CACHED - 1]]


def _read(lane: Lane, table: str, count: int | None, newest: int | None = None) -> list[Commit]:
    return [commit_of(each) for each in lane.history(table, count, newest)]


class History:
    """The commits of one topic, as far back as its log reaches."""

    def __init__(self, lane: Lane, table: str, cache: CommitCache) -> None:
        self._lane = lane
        self._table = table
        self._cache = cache
        self._newest: int | None = None

    def version(self, at_least: int = -1) -> int:
        """Return the version of the last commit; ``at_least``: one that is known to exist."""
        self._newest = self._lane.version(self._table)
        if self._newest < at_least:  # prefetched before that version was read elsewhere
            self._newest = self._lane.version(self._table)
        return self._newest

    def use_up_prefetched(self) -> None:
        """Have the next read show what is committed by now, and not what was prefetched earlier."""
        if self._lane.name == "direct":  # Spark prefetches nothing, and a version takes it jobs
            self._lane.version(self._table)

    def newest_version(self) -> int:
        """Return the version of the last commit that was read."""
        return self._newest if self._newest is not None else self.version()

    def commits_after(self, version: int) -> NewCommits:
        """Return the commits after a version; DataLoss where the log has no such version.

        ``maintain`` removes only commits that no subscription needs.
        """
        read = self._last(_FIRST_READ)
        if read[0].version < version:  # prefetched before that version was read elsewhere
            read = self._last(_FIRST_READ)
        behind = read[0].version - version
        if behind < 0:
            raise DataLoss(
                f"{self._table}: its last commit is {read[0].version}, and a subscription has read "
                f"{version}; commits of its log are gone: restore them, or the table from a copy"
            )
        if behind > len(read):
            read = self._last(behind)
        return new_commits(read, version)

    def published_as(self, publish_id: str) -> Commit | None:
        """Return the commit that carries a publish id, or None."""
        for limit in (_FIRST_READ, None):
            history = self._last(limit)
            found = next((c for c in history if c.publish_id == publish_id), None)
            if found is not None or history[-1].version == 0:
                return found
        return None

    def last_version_of(self, application: str) -> int | None:
        """Return the highest version of an application that a commit carries, None without one."""
        named = [each.publish_id.rpartition(":") for each in self._last(None) if each.publish_id]
        versions = [int(number) for name, _, number in named if name == application]
        return max(versions, default=None)

    def publishes_within(self, earliest: datetime, latest: datetime) -> list[Commit] | None:
        """Return the publishes with a publish time between two times.

        None if the log does not reach back to the first commit, messages may have been deleted, or
        there are too many commits.
        """
        count = self.newest_version() + 1
        if count > _FEW:
            return None
        commits = self._last(count)
        if commits[-1].version > 0 or any(each.removes_messages for each in commits):
            return None
        stamped = [(each, each.publish_time) for each in commits if each.publish_time is not None]
        return [each for each, time in stamped if earliest <= time <= latest]

    def published_since(self, time: datetime) -> tuple[int, datetime]:
        """Return how many messages were published since a time, and from when that is known.

        Only the last commits are searched.
        """
        commits = self._last(_FEW)
        stamped = [(each, each.publish_time) for each in commits if each.publish_time is not None]
        number = sum(each.message_count for each, stamp in stamped if stamp >= time)
        first = min((stamp for _, stamp in stamped), default=time)
        return number, time if commits[-1].version == 0 else max(time, first)

    def last_publish_time(self) -> datetime | None:
        """Return the publish time of the last publish; None if the last commits have none."""
        stamps = (each.publish_time for each in self._last(_FEW))
        return next((stamp for stamp in stamps if stamp is not None), None)

    def reaches_back_to(self, time: datetime) -> bool:
        """Return whether the history has every commit from a time on."""
        history = self._last(None)
        return history[-1].version == 0 or any(
            commit.publish_time is not None and commit.publish_time < time for commit in history
        )

    def has_all_commits(self) -> bool:
        """Return whether the history reaches back to the first commit."""
        return self._last(None)[-1].version == 0

    def version_at(self, time: datetime) -> int:
        """Return the last version before the first publish with a publish time after a time."""
        history = self._last(None)
        later = [c.version for c in history if c.publish_time is not None and c.publish_time > time]
        return min(later) - 1 if later else history[0].version

    def first_version_since(self, time: datetime) -> int | None:
        """Return a version before which no message published since a time was committed.

        None if the history does not reach back to the first commit.
        """
        history = self._last(None)
        if history[-1].version > 0:
            return None
        later = [c.version for c in history if c.publish_time and c.publish_time >= time]
        return min(later, default=history[0].version)

    def discards_before(self) -> datetime | None:
        """Return the latest time that retention has announced in the log, or None."""
        return new_commits(self._last(None), -1).discards_before

    def has_allocated(self, first: int) -> bool:
        """Tell whether the range that begins there was allocated to one of the last publishes."""
        return any(
            each.adds_messages and each.first_position == first for each in self._last(_FIRST_READ)
        )

    def highest_end(self) -> int:
        """Return the end of the highest range that a publish was given, so far as is known.

        The last publishes tell, behind whatever maintenance has committed since. Where the log does
        not reach back to one, the stored messages tell: by their statistics, or read without.
        """
        for count in (_FIRST_READ, None):
            commits = self._last(count)
            if any(each.adds_messages for each in commits) or commits[-1].version == 0:
                return max(each.end_position for each in commits)
        told = [each.position_max for each in self._lane.files(self._table)]
        highest = max((each for each in told if each is not None), default=-1)
        if None in told:
            above: Where = [("position", ">", highest)]
            found = self._lane.read(self._table, above, ["position"])["position"]
            highest = pc.max(found).as_py() if len(found) else highest
        return highest + 1

    def logged(self, limit: int | None = None) -> list[LoggedCommit]:
        """Return the last commits in the log, newest first; with ``limit=None`` all."""
        return self._lane.history(self._table, limit)

    def add(self, publish: LoggedCommit) -> None:
        """Cache a publish that this process has just made."""
        self._cache.add(self._table, commit_of(publish))

    def _last(self, count: int | None) -> list[Commit]:
        found = self._cache.last(self._lane, self._table, count)
        self._newest = found[0].version
        return found


_KEEPS_MESSAGES = frozenset(
    {
        *("CREATE TABLE", "WRITE", "OPTIMIZE", "VACUUM START", "VACUUM END", "CLONE"),
        *("SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "FSCK", "ADD CONSTRAINT"),
    }
)
"""Operations that keep every message, unless they overwrite; any other may delete some."""

_COUNTS = ("numOutputRows", "num_added_rows")
"""The metrics of Spark and of delta-rs that count the rows that a write added."""


def commit_of(logged: LoggedCommit) -> Commit:
    """Parse a commit; a commit that is not a publish of this library adds no messages."""
    metadata = metadata_of(logged.user_metadata)
    stamp = metadata.get("publish_time")
    if not isinstance(stamp, int):
        bound = metadata.get("discards_before")
        return Commit(
            version=logged.version,
            publish_time=None,
            publish_id=None,
            message_count=0,
            adds_messages=False,
            removes_messages=logged.operation not in _KEEPS_MESSAGES or logged.overwrites,
            discards_before=from_micros(bound) if isinstance(bound, int) else None,
            restores=logged.operation == "RESTORE",
        )
    counted = metadata.get("message_count")
    return Commit(
        version=logged.version,
        publish_time=from_micros(stamp),
        publish_id=metadata.get("publish_id"),
        message_count=counted if isinstance(counted, int) else _count(logged),
        adds_messages=True,
        removes_messages=False,
        first_position=metadata.get("first_position", 0),
        end_position=metadata.get("end_position", 0),
        dense=isinstance(counted, int),
    )


def _count(logged: LoggedCommit) -> int:
    return next((int(logged.metrics[name]) for name in _COUNTS if name in logged.metrics), 0)


def metadata_of(user_metadata: str | None) -> dict[str, Any]:
    """Return the user metadata that a publish wrote; empty for any other commit."""
    try:
        metadata = json.loads(user_metadata or "{}")
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}
