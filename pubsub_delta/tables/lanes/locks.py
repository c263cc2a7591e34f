"""Locks of the tables on a local disk: one writer at a time on this machine, in either lane.

Delta's log store for local files checks that a version is free and then renames: two processes can
both succeed. ``deltalake`` commits atomically there, but not against that log store. Other storages
have an atomic put, and need no lock.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pubsub_delta.errors import Aborted, FailedPrecondition
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.lanes.storage_errors import translating_storage_errors
from pubsub_delta.tables.layout import on_disk, path_of

PATIENCE_SECONDS = 300.0
"""How long a writer waits for a lock. A suspended process holds its locks for ever."""
TOPIC_PATIENCE_SECONDS = 1_800.0
"""The same for the messages of a topic: a DataFrame or an OPTIMIZE holds the lock."""


class _HeldLocks(threading.local):
    """The locks that this thread holds, by name."""

    def __init__(self) -> None:
        self.names: set[str] = set()


class TableLocks:
    """The locks of the tables of one store: files in ``_locks`` below its root.

    A lock is named by the path of the table within its real root. So one table has one lock, even
    if processes name its root by different links, URLs, relative paths or catalogs.

    Args:
        directory: the root on a local disk; None for other storage, which has no locks.
        refusal: returns why no table may be written, or None; called before each write.
    """

    def __init__(
        self, directory: str | None, refusal: Callable[[], str | None] | None = None
    ) -> None:
        self._directory = directory
        self._refusal = refusal
        self._held = _HeldLocks()

    @contextmanager
    def locked(self, table: str, *, wait: bool = True) -> Iterator[None]:
        """Hold the lock of a table; a thread that holds it can take it again.

        Its holder reads, decides and writes without losing a race. If another writer holds it:
        Conflict without ``wait``; with ``wait`` Aborted after too long. FailedPrecondition if no
        table may be written, or the root cannot be made.
        """
        refusal = None if self._refusal is None else self._refusal()
        if refusal is not None:
            raise FailedPrecondition(f"{table}: {refusal}")
        if self._directory is None:
            yield
            return
        root = os.path.realpath(self._directory)
        name = _name(table, root)
        if name in self._held.names:
            yield
            return
        file = Path(root, "_locks", f"{name}.lock")
        patience = TOPIC_PATIENCE_SECONDS if name.startswith("messages") else PATIENCE_SECONDS
        lock = FileLock(file, is_singleton=False)
        try:
            with translating_storage_errors(table):
                _make_directory(file.parent)
                lock.acquire(timeout=patience, blocking=wait)
        except Timeout:
            if not wait:
                raise Conflict(f"{table} is being written") from None
            raise Aborted(
                f"{table}: another process has held its lock for {patience:.0f} seconds: it writes "
                "for that long, or is suspended; nothing was written, and trying again is safe; "
                f"fuser {file} shows which process it is"
            ) from None
        self._held.names.add(name)
        try:
            yield
        finally:
            self._held.names.remove(name)
            lock.release()


def _make_directory(directory: Path) -> None:
    """Make a directory of the root; FailedPrecondition if a path to it is no directory.

    Nothing of the store is lost then: there is none.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (NotADirectoryError, FileExistsError, FileNotFoundError) as error:
        raise FailedPrecondition(
            f"root: the directory {directory} cannot be made ({error.strerror}: "
            f"{error.filename}); a directory of this machine is accepted, there or not"
        ) from error


def _name(table: str, root: str) -> str:
    """Name a table within its root.

    >>> _name("delta.`file:/data/pubsub/./messages/0a`", "/data/pubsub")
    'messages-0a'
    >>> _name("`main`.`pubsub`.`messages_0a`", "/warehouse/pubsub.db")
    'messages_0a'
    """
    path = path_of(table)
    if path is None:  # of a catalog, whose schema has more than one name
        within = table.rpartition(".")[2]
    else:
        within = os.path.relpath(os.path.realpath(on_disk(path) or path), root)
    return re.sub(r"[^\w\-]", "", within.replace("/", "-"))[-200:]
