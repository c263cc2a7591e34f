"""Appends: each lands once, though it is told as failed.

The client of an object store repeats a put whose answer was lost, and finds its own commit there.
``deltalake`` takes it for another writer's, with which an append has no conflict, and makes the
commit again as a later version. Whoever has acknowledged the messages of the first one would get
them again with the second. So an append there is tried as the next version only, and its commit is
looked for before it is tried again.

On any storage ``deltalake`` writes a checkpoint after some commits, and raises an error if it
cannot, as on a full disk. Such a commit has landed, too.
"""

from __future__ import annotations

from collections.abc import Callable

from deltalake import DeltaTable

from pubsub_delta.tables.lanes.direct.commits import has_landed
from pubsub_delta.tables.lanes.direct.errors import translating_errors
from pubsub_delta.tables.lanes.direct.history import read_history
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.lanes.retries import repeat_on_conflict


def append_once(
    tables: OpenTables,
    table: str,
    write: Callable[[DeltaTable], None],
    user_metadata: str,
    transaction: tuple[str, int] | None,
    known_version: int | None = None,
) -> int | None:
    """Make a commit that only adds, and return its version; None if its transaction has landed.

    ``write``: makes it; in object storage as the next version, or it fails. ``user_metadata``: what
    no other commit carries. ``known_version``: of the last commit, if the caller has just read it.
    """
    known = known_version

    def attempt() -> int | None:
        nonlocal known
        with translating_errors(table), tables.newest(table, known) as opened:
            before, known = int(opened.version()), None
            if has_landed(opened, transaction):
                return None
            try:
                with translating_errors(table):
                    write(opened)
            except Exception:
                landed = _version_of(tables, table, user_metadata, before)
                if landed is None:
                    raise
                return landed
            return int(opened.version())

    return repeat_on_conflict(attempt, table)


def _version_of(tables: OpenTables, table: str, user_metadata: str, after: int) -> int | None:
    """Return the version of the commit after another one that carries a text, or None."""
    with tables.newest(table) as opened:
        newest = int(opened.version())
    if newest <= after:
        return None
    commits = read_history(tables, table, newest - after, newest)
    return next((each.version for each in commits if each.user_metadata == user_metadata), None)
