"""Open tables, kept up to date: opening one costs ten times what looking for new commits does."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.lanes.damage import lost_commit
from pubsub_delta.tables.lanes.direct.commits import newest_version
from pubsub_delta.tables.lanes.direct.failures import telling, unreachable
from pubsub_delta.tables.lanes.direct.snapshots import Snapshot
from pubsub_delta.tables.lanes.direct.storage import address_of
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.schemas import CHECKPOINT_INTERVAL

T = TypeVar("T")

_OPEN_AT_ONCE = 256
_COMMITS_SEEN = 20
"""Commits after which a table is opened again: a handle slows down with each that it has seen."""
_COMMITS_SEEN_AFAR = CHECKPOINT_INTERVAL
"""The same in object storage, where opening takes requests for every commit since a checkpoint."""
_LOOKING = 4
"""Threads that look at tables ahead."""
_TRIES = 5
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
         "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN")  # fmt: skip
"""Of the environment, what a program may renew while it runs."""


class _Handle:
    """One open table. Whoever holds its lock uses it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.table: DeltaTable | None = None
        self.opened_at = 0
        self.checked = 0
        self.folder: tuple[int, int] | None = None
        self.snapshot: Snapshot | None = None
        self.moves = False
        """Whether the last look has found commits of others: the next one likely does, too."""

    def update(self, opened: DeltaTable) -> None:
        """Bring a table up to date: one request where there is nothing new, or three."""
        before = opened.version()
        if self.moves or newest_version(opened) != before:
            opened.update_incremental()
            self.moves = opened.version() != before

    @property
    def fresh(self) -> DeltaTable | None:
        """The table, unless it is not open, or is to be opened again."""
        most = _COMMITS_SEEN_AFAR if self.folder is None else _COMMITS_SEEN
        if self.table is None or self.table.version() - self.opened_at > most:
            return None
        return self.table


class _Ahead(threading.local):
    """The looks that a thread has begun, by table; each is used once."""

    def __init__(self) -> None:
        self.looks: dict[str, Future[None]] = {}


class Handles:
    """The tables that this process has open; those not used for longest are closed.

    Args:
        options: what opens the storage (``storage.storage_options``).
    """

    def __init__(self, options: Mapping[str, str] | None) -> None:
        self.options = dict(options) if options else None
        self._handles: OrderedDict[str, _Handle] = OrderedDict()
        self._lock = threading.Lock()
        self._keys = _keys_of_environment()
        self._ahead = _Ahead()
        self._looking: ThreadPoolExecutor | None = None

    @contextmanager
    def looking_ahead(self, tables: Sequence[str]) -> Iterator[None]:
        """Begin to look at tables; the first look at each within this, by this thread, is that one.

        On a local disk nothing is begun: a look takes less than a thread does.
        """
        begun = self._ahead.looks
        afar = [t for t in tables if "://" in address_of(t) and t not in begun]
        begun.update({table: self._pool().submit(self._look, table) for table in afar})
        try:
            yield
        finally:
            for table in afar:
                begun.pop(table, None)

    def _look(self, table: str) -> None:
        handle = self._handle(table)
        with handle.lock:
            self._updated(table, handle)

    def _has_looked(self, table: str) -> bool:
        """Wait for a look that was begun ahead, and tell whether there was one."""
        look = self._ahead.looks.pop(table, None)
        if look is None:
            return False
        look.result()
        return True

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._looking is None:
                self._looking = ThreadPoolExecutor(_LOOKING, "look")
            return self._looking

    @contextmanager
    def newest(self, table: str, seen: int | None = None) -> Iterator[DeltaTable]:
        """Give a table as of its last commit, to one thread at a time.

        One that is as of ``seen``, the last commit as the caller has just seen it, is given as it
        is: each look lists the log.
        """
        looked = self._has_looked(table)
        handle = self._handle(table)
        with handle.lock:
            opened = handle.fresh
            is_seen = opened is not None and (looked or opened.version() == seen)
            if opened is None or not is_seen or _folder(address_of(table)) != handle.folder:
                opened = self._updated(table, handle)
            yield opened
            if opened.version() == handle.checked + 1:
                handle.checked += 1  # a commit of this process, which has just written it

    @contextmanager
    def last_seen(self, table: str) -> Iterator[DeltaTable]:
        """Give a table as this process has seen it last, to one thread at a time."""
        handle = self._handle(table)
        with handle.lock:
            yield handle.fresh or self._updated(table, handle)

    def snapshot(self, table: str, seen: int | None = None) -> Snapshot:
        """Return a table as of its last commit; as it is open, where that is as of ``seen``."""
        looked = self._has_looked(table)
        handle = self._handle(table)
        with handle.lock:
            opened = handle.fresh
            if opened is None or not (looked or opened.version() == seen):
                opened = self._updated(table, handle)
            if handle.snapshot is None or handle.snapshot.version != opened.version():
                handle.snapshot = Snapshot(table, opened, self.options)
            return handle.snapshot

    def known_rows(self, table: str, opened: DeltaTable) -> pa.Table | None:
        """Return all rows of a table as it is open, if they are few; None if they are many."""
        handle = self._handle(table)
        with handle.lock:
            if handle.snapshot is None or handle.snapshot.version != opened.version():
                handle.snapshot = Snapshot(table, opened, self.options)
            return handle.snapshot.rows() if handle.snapshot.has_few_rows else None

    def keep_rows(self, table: str, opened: DeltaTable, rows: pa.Table) -> None:
        """Know the rows of a table that has just been written over: they need not be read."""
        handle = self._handle(table)
        with handle.lock:
            handle.snapshot = Snapshot(table, opened, self.options, rows)

    def snapshot_at(self, table: str, version: int) -> Snapshot:
        """Return a table as of a version; FailedPrecondition where it is not kept any more."""
        if version == (newest := self.snapshot(table, seen=version)).version:
            return newest
        try:
            opened = DeltaTable(address_of(table), version=version, storage_options=self.options)
        except DeltaError as error:
            raise FailedPrecondition(
                f"{table}: version {version} is not kept; the newest is {newest.version}"
            ) from error
        return Snapshot(table, opened, self.options)

    def reading(self, table: str, read: Callable[[Snapshot], T], seen: int | None = None) -> T:
        """Return what a function reads of a table as of its last commit.

        ``seen``: that commit's version, where the caller has just looked. The function is called
        again where a file was vacuumed that a commit since has replaced.
        """
        with telling(table):
            snapshot = self.snapshot(table, seen)
            for _ in range(_TRIES):
                try:
                    return read(snapshot)
                except FileNotFoundError:
                    newer = self.snapshot(table)
                    if newer.version == snapshot.version:
                        raise
                    snapshot = newer
            return read(snapshot)

    def opened(self, table: str) -> DeltaTable:
        """Open a table anew; FailedPrecondition where its storage is not reached."""
        try:
            return DeltaTable(address_of(table), storage_options=self.options)
        except OSError as error:
            told = unreachable(table, error)
            if told is None:
                raise
            raise told from error

    def forget(self, table: str) -> None:
        """Close a table: the next use opens it again."""
        with self._lock:
            self._handles.pop(table, None)

    def _handle(self, table: str) -> _Handle:
        keys = _keys_of_environment()
        with self._lock:
            if keys != self._keys:  # they were renewed: tables that are open have the old ones
                self._keys = keys
                self._handles.clear()
            handle = self._handles.setdefault(table, _Handle())
            self._handles.move_to_end(table)
            while len(self._handles) > _OPEN_AT_ONCE:
                self._handles.popitem(last=False)
            return handle

    def _updated(self, table: str, handle: _Handle) -> DeltaTable:
        address = address_of(table)
        folder = _folder(address)
        opened = handle.fresh
        if opened is not None and folder == handle.folder:
            try:
                handle.update(opened)
            except DeltaError:
                opened = None  # commits that it had not seen are gone by now: from a checkpoint on
            if opened is not None and handle.fresh is opened:
                _check_commits(table, opened, handle)
                return opened
        handle.table = handle.snapshot = None
        opened = self.opened(table)
        handle.opened_at = opened.version()
        handle.checked = opened.version() - 1
        handle.folder = folder
        _check_commits(table, opened, handle)
        handle.table = opened
        return opened


def _keys_of_environment() -> tuple[str | None, ...]:
    return tuple(map(os.environ.get, _KEYS))


def _folder(address: str) -> tuple[int, int] | None:
    """Return which directory it is, on a local disk; TableMissing where there is none.

    A handle does not notice that its table was removed.
    """
    if "://" in address:
        return None
    try:
        status = os.stat(address)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TableMissing(address) from error
    return status.st_dev, status.st_ino


def _check_commits(table: str, opened: DeltaTable, handle: _Handle) -> None:
    """Raise DataLoss where a new commit is empty: what a crash leaves of one on a local disk.

    ``deltalake`` takes it for a commit that changed nothing.
    """
    version = opened.version()
    new = version - handle.checked
    if handle.folder is not None and new > 0 and len(opened.history(new)) < new:
        raise lost_commit(table, version)
    handle.checked = version
