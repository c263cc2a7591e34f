"""The history of a table while others commit: which version each of its commits has.

``deltalake`` includes commits that have landed since a table was opened, but gives the newest one
the version at which it was opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltalake import DeltaTable

from pubsub_delta.tables.lanes.direct.commits import logged
from pubsub_delta.tables.lanes.direct.errors import FAILURES, translating_errors
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.lanes.direct.storage import address_of
from pubsub_delta.tables.lanes.protocol import Conflict, LoggedCommit
from pubsub_delta.tables.lanes.storage_errors import lost_commit

_SHORT = 20
"""Commits that are read so quickly that other threads may wait for it."""
_ATTEMPTS = 100

_Commits = list[Mapping[str, Any]]


def read_history(
    tables: OpenTables, table: str, limit: int | None = None, newest: int | None = None
) -> list[LoggedCommit]:
    """Return the last commits of a table, newest first; DataLoss if one of them is damaged.

    ``limit``: how many, as of ``newest``, the last version as far as the caller knows. Those that
    others make meanwhile come in front of them.
    """
    before = _version(tables, table) if newest is None else newest
    commits = _commits(tables, table, limit)
    newest = _version(tables, table)
    if newest != before:
        newest, commits = _commits_among_others(tables, table, limit, newest - before)
    oldest = newest - len(commits) + 1
    if (
        oldest > 0
        and (limit is None or len(commits) < limit)
        and _has_commit(tables, table, oldest - 1)
    ):
        raise lost_commit(table, newest)  # an empty one is left out, which shifts the others
    return [logged(commit, newest - place) for place, commit in enumerate(commits)]


def _version(tables: OpenTables, table: str) -> int:
    with translating_errors(table), tables.newest(table) as opened:
        return int(opened.version())


def _commits(tables: OpenTables, table: str, limit: int | None) -> _Commits:
    """Return the last commits without their versions."""
    with translating_errors(table):
        if limit is None or limit > _SHORT:
            found = tables.opened(table).history(limit)
        else:
            with tables.cached(table) as opened:
                found = opened.history(limit)
    return [{key: commit[key] for key in commit if key != "version"} for commit in found]


def _commits_among_others(
    tables: OpenTables, table: str, limit: int | None, more: int
) -> tuple[int, _Commits]:
    """Return the version of the newest commit, and the last commits, while others commit.

    A commit that is read alone, so quickly that no other lands, tells the versions of the rest.
    ``more``: how many have landed in the time that it takes to read ``limit`` commits.
    """
    for _ in range(_ATTEMPTS):
        version = _version(tables, table)
        known = _commits(tables, table, 1)
        if _version(tables, table) != version:
            continue
        commits = _commits(tables, table, None if limit is None else limit + 2 * more)
        if known and commits.count(known[0]) == 1:
            return version + commits.index(known[0]), commits
    raise Conflict(f"{table}: commits land faster than one can be read; try again")


def _has_commit(tables: OpenTables, table: str, version: int) -> bool:
    """Return whether the log has a commit."""
    try:
        past = DeltaTable(address_of(table), version=version, storage_options=tables.options)
        return bool(past.history(1))
    except FAILURES:
        return False
