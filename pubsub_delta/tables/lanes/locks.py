"""A lock for every table on a local disk, one writer at a time on this machine, by either lane.

Delta's log store for local files checks that a version is free and then renames: two processes can
both succeed. ``deltalake`` is atomic there, but not together with it. Every other storage has an
atomic put of its own, and no lock.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pubsub_delta.tables.lanes.damage import telling_damage
from pubsub_delta.tables.lanes.protocol import Conflict


class _Held(threading.local):
    """The tables whose locks this thread holds."""

    def __init__(self) -> None:
        self.tables: set[str] = set()


class TableLocks:
    """The locks of the tables of one store: files in ``_locks`` below its root.

    Args:
        directory: the root on a local disk; None where it is elsewhere, and nothing is locked.
    """

    def __init__(self, directory: str | None) -> None:
        self._folder = None if directory is None else Path(directory) / "_locks"
        self._held = _Held()

    @contextmanager
    def locked(self, table: str, *, wait: bool = True) -> Iterator[None]:
        """Keep other writers on this machine away from a table; a thread may do so repeatedly.

        Whoever holds the lock may also read, decide and write without losing a race. Without
        ``wait`` it is a Conflict if somebody else holds it.
        """
        if self._folder is None or table in self._held.tables:
            yield
            return
        lock = FileLock(self._folder / f"{_name(table)}.lock", is_singleton=False)
        try:
            with telling_damage(table):
                self._folder.mkdir(parents=True, exist_ok=True)
                lock.acquire(blocking=wait)
        except Timeout:
            raise Conflict(f"{table} is being written") from None
        self._held.tables.add(table)
        try:
            yield
        finally:
            self._held.tables.remove(table)
            lock.release()


def _name(table: str) -> str:
    """Name a table within its root, so that every way to write the root finds the same lock."""
    return re.sub(r"[^\w\-]", "", "-".join(table.split("/")[-2:]))[-200:]
