"""A cache of open tables: opening a table costs ten times as much as updating an open one."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.lanes.direct.commits import newest_version
from pubsub_delta.tables.lanes.direct.errors import refused, translating_errors, unavailable
from pubsub_delta.tables.lanes.direct.storage import address_of
from pubsub_delta.tables.lanes.direct.table_snapshots import TableSnapshot
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.storage_errors import lost_commit
from pubsub_delta.tables.schemas import CHECKPOINT_INTERVAL

T = TypeVar("T")

_OPEN_AT_ONCE = 256
_REOPEN_AFTER = 20
"""Commits after which a local table is opened again: each update slows an open table down."""
_REOPEN_AFTER_REMOTE = CHECKPOINT_INTERVAL
"""The same for object storage, where opening takes requests for every commit since a checkpoint."""
_PREFETCH_THREADS = 4
_READ_ATTEMPTS = 5
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
         "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN")  # fmt: skip
"""Credentials of the environment that a program can renew while it runs."""


class _OpenTable:
    """One open table. A thread holds its lock while it uses it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.table: DeltaTable | None = None
        self.opened_at = 0
        self.checked = 0
        self.directory_id: tuple[int, int] | None = None
        self.snapshot: TableSnapshot | None = None
        self.was_behind = False
        """Whether the last update found commits of others: the next one likely does, too."""

    def update(self, opened: DeltaTable) -> None:
        """Bring a table up to date: one request without new commits, else three."""
        before = opened.version()
        if self.was_behind or newest_version(opened) != before:
            opened.update_incremental()
            self.was_behind = opened.version() != before

    @property
    def usable(self) -> DeltaTable | None:
        """The table; None if it is not open, or must be opened again."""
        most = _REOPEN_AFTER_REMOTE if self.directory_id is None else _REOPEN_AFTER
        if self.table is None or self.table.version() - self.opened_at > most:
            return None
        return self.table


class _Prefetches(threading.local):
    """The updates that a thread has begun, by table; each is used once."""

    def __init__(self) -> None:
        self.by_table: dict[str, Future[None]] = {}


class OpenTables:
    """The tables that this process has open; the least recently used ones are closed.

    Args:
        options: the options of the storage (``credentials.storage_options``).
    """

    def __init__(self, options: Mapping[str, str] | None) -> None:
        self.options = dict(options) if options else None
        self._by_table: OrderedDict[str, _OpenTable] = OrderedDict()
        self._lock = threading.Lock()
        self._keys = _keys_of_environment()
        self._prefetches = _Prefetches()
        self._executor: ThreadPoolExecutor | None = None

    @contextmanager
    def prefetching(self, tables: Sequence[str]) -> Iterator[None]:
        """Start updating tables; the first use of each by this thread in the block waits for it.

        On a local disk it does nothing: an update takes less time than starting a thread.
        """
        begun = self._prefetches.by_table
        remote = [t for t in tables if "://" in address_of(t) and t not in begun]
        with suppress(RuntimeError):  # when the interpreter exits, no thread takes work any more
            begun.update({table: self._pool().submit(self._prefetch, table) for table in remote})
        try:
            yield
        finally:
            for table in remote:
                begun.pop(table, None)

    def _prefetch(self, table: str) -> None:
        handle = self._handle(table)
        with handle.lock:
            self._updated(table, handle)

    def _was_prefetched(self, table: str) -> bool:
        """Wait for the update of a table that was started, and return whether there was one."""
        update = self._prefetches.by_table.pop(table, None)
        if update is None:
            return False
        update.result()
        return True

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(_PREFETCH_THREADS, "prefetch")
            return self._executor

    @contextmanager
    def newest(self, table: str, known_version: int | None = None) -> Iterator[DeltaTable]:
        """Yield a table as of its last commit, to one thread at a time.

        A table that is open at ``known_version``, the last commit as far as the caller knows, is
        not updated: an update lists the log.
        """
        prefetched = self._was_prefetched(table)
        handle = self._handle(table)
        with handle.lock:
            opened = handle.usable
            is_newest = opened is not None and (prefetched or opened.version() == known_version)
            directory_id = _directory_id(address_of(table))
            if opened is None or not is_newest or directory_id != handle.directory_id:
                opened = self._updated(table, handle)
            yield opened
            if opened.version() == handle.checked + 1:
                handle.checked += 1  # a commit of this process, which has just written it

    @contextmanager
    def cached(self, table: str) -> Iterator[DeltaTable]:
        """Yield an open table without an update, to one thread at a time."""
        handle = self._handle(table)
        with handle.lock:
            yield handle.usable or self._updated(table, handle)

    def snapshot(self, table: str, known_version: int | None = None) -> TableSnapshot:
        """Return a table as of its last commit; without an update if it has ``known_version``."""
        prefetched = self._was_prefetched(table)
        handle = self._handle(table)
        with handle.lock:
            opened = handle.usable
            if opened is None or not (prefetched or opened.version() == known_version):
                opened = self._updated(table, handle)
            if handle.snapshot is None or handle.snapshot.version != opened.version():
                handle.snapshot = TableSnapshot(table, opened, self.options)
            return handle.snapshot

    def cached_rows(self, table: str, opened: DeltaTable) -> pa.Table | None:
        """Return all rows of an open table, if they are few; None if they are many."""
        handle = self._handle(table)
        with handle.lock:
            if handle.snapshot is None or handle.snapshot.version != opened.version():
                handle.snapshot = TableSnapshot(table, opened, self.options)
            return handle.snapshot.rows() if handle.snapshot.has_few_rows else None

    def cache_rows(self, table: str, opened: DeltaTable, rows: pa.Table) -> None:
        """Cache the rows of a table that was just overwritten."""
        handle = self._handle(table)
        with handle.lock:
            handle.snapshot = TableSnapshot(table, opened, self.options, rows)

    def snapshot_at(self, table: str, version: int) -> TableSnapshot:
        """Return a table as of a version; FailedPrecondition if that version is no longer kept."""
        if version == (newest := self.snapshot(table, known_version=version)).version:
            return newest
        try:
            opened = self.opened(table, version)
        except DeltaError as error:
            away = refused(table, error) or unavailable(table, error)
            raise away or FailedPrecondition(
                f"{table}: version {version} is not kept; the newest one is {newest.version}; "
                "delta.logRetentionDuration of the table says how long versions are kept"
            ) from error
        return TableSnapshot(table, opened, self.options)

    def read(
        self, table: str, read: Callable[[TableSnapshot], T], known_version: int | None = None
    ) -> T:
        """Return the result of a function that reads a table as of its last commit.

        ``known_version``: the version of that commit, if the caller knows it. The function is
        called again if VACUUM removed a file that a later commit has replaced.
        """
        with translating_errors(table):
            snapshot = self.snapshot(table, known_version)
            for _ in range(_READ_ATTEMPTS):
                try:
                    return read(snapshot)
                except FileNotFoundError:
                    newer = self.snapshot(table)
                    if newer.version == snapshot.version:
                        raise
                    snapshot = newer
            return read(snapshot)

    def opened(self, table: str, version: int | None = None) -> DeltaTable:
        """Open a table again, perhaps as of a version."""
        return DeltaTable(address_of(table), version=version, storage_options=self.options)

    def forget(self, table: str) -> None:
        """Close a table: the next use opens it again."""
        with self._lock:
            self._by_table.pop(table, None)

    def _handle(self, table: str) -> _OpenTable:
        keys = _keys_of_environment()
        with self._lock:
            if keys != self._keys:  # open tables still have the old credentials
                self._keys = keys
                self._by_table.clear()
            handle = self._by_table.setdefault(table, _OpenTable())
            self._by_table.move_to_end(table)
            while len(self._by_table) > _OPEN_AT_ONCE:
                self._by_table.popitem(last=False)
            return handle

    def _updated(self, table: str, handle: _OpenTable) -> DeltaTable:
        address = address_of(table)
        directory_id = _directory_id(address)
        opened = handle.usable
        if opened is not None and directory_id == handle.directory_id:
            try:
                handle.update(opened)
            except DeltaError:
                opened = None  # commits since its version were cleaned up: open at a checkpoint
            if opened is not None and handle.usable is opened:
                _check_commits(table, opened, handle)
                return opened
        handle.table = handle.snapshot = None
        opened = self.opened(table)
        handle.opened_at = opened.version()
        handle.checked = opened.version() - 1
        handle.directory_id = directory_id
        _check_commits(table, opened, handle)
        handle.table = opened
        return opened


def _keys_of_environment() -> tuple[str | None, ...]:
    return tuple(map(os.environ.get, _KEYS))


def _directory_id(address: str) -> tuple[int, int] | None:
    """Return the device and inode of a local table; TableMissing without one.

    An open ``DeltaTable`` does not notice that its directory was removed or replaced.
    """
    if "://" in address:
        return None
    try:
        status = os.stat(address)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TableMissing(address) from error
    return status.st_dev, status.st_ino


def _check_commits(table: str, opened: DeltaTable, handle: _OpenTable) -> None:
    """Raise DataLoss for an empty new commit file, which a crash can leave on a local disk.

    ``deltalake`` reads an empty file as a commit without changes.
    """
    version = opened.version()
    new = version - handle.checked
    if handle.directory_id is not None and new > 0:
        found = len(opened.history(new))
        # Of a log that was cleaned since, the commits are gone from the first one on.
        if found < new and (not found or _has_commit(table, handle.checked)):
            raise lost_commit(table, version)
    handle.checked = version


def _has_commit(table: str, version: int) -> bool:
    """Return whether the log of a local table has a commit."""
    try:
        return bool(DeltaTable(address_of(table), version=version).history(1))
    except DeltaError:
        return False
