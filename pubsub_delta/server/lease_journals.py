"""Journals of a server's leases, and a lock: if it is killed, another server frees its leases.

A server on a local disk has a directory in ``_servers`` below the root, and holds a lock beside it
while its process runs. If another server on the same machine gets this lock, the first one is gone.
Then it makes the messages available that were leased and not yet given to a consumer. Messages that
consumers were given stay leased until their deadlines.

The lock belongs to the process, not to its number. Locks of other machines prove nothing, even on a
shared file system. There, and on object storage, leases end at their deadlines.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from pubsub_delta.policy.positions import Positions
from pubsub_delta.server.assigner import Delivery

logger = logging.getLogger("pubsub_delta.server")

FOLDER = "_servers"
LONGEST_JOURNAL = 1_000_000
"""Bytes; a longer journal is written again, with the waiting messages only."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Identifies a machine, and changes when it boots."""
_UID = re.compile(r"[0-9a-f]{32}")


@dataclass
class Abandoned:
    """Messages that a server that is gone had leased and not given to a consumer.

    ``waiting``: their positions by the number of the lease.
    """

    subscription: str
    uid: str
    waiting: dict[int, Positions] = field(default_factory=dict)


class Journal:
    """The journal of the leases of one server on one subscription.

    It is written before messages are given to consumers, so waiting messages were sent to nobody.

    Args:
        path: the file; None if other servers could not notice that this one is gone.
        subscription: the full name of the subscription.
    """

    def __init__(self, path: Path | None, subscription: str) -> None:
        self._path = path
        self._subscription = subscription
        self._waiting: dict[int, Positions] = {}
        self._file: BinaryIO | None = None
        self._size = 0

    def leased(self, lease_id: int, positions: Positions) -> None:
        """Write a lease whose messages all wait."""
        if self._path is None:
            return
        self._waiting[lease_id] = positions
        self._write(_line("leased", lease_id, positions))

    def given(self, deliveries: Iterable[Delivery]) -> None:
        """Note that messages are about to be given to consumers."""
        if self._path is None:
            return
        by_lease: dict[int, list[int]] = {}
        for each in deliveries:
            by_lease.setdefault(each.lease_id, []).append(each.position)
        lines = []
        for lease_id, positions in by_lease.items():
            given = Positions.of(positions)
            self._waiting[lease_id] = self._waiting.get(lease_id, Positions()) - given
            if not self._waiting[lease_id]:
                del self._waiting[lease_id]
            lines.append(_line("given", lease_id, given))
        self._write("".join(lines))

    def end(self) -> None:
        """Delete the journal: the server no longer has a lease on the subscription."""
        self._waiting.clear()
        if self._file is not None and self._path is not None:
            self._file.close()
            self._file = None
            self._path.unlink(missing_ok=True)

    def _write(self, lines: str) -> None:
        if self._path is None:
            return
        try:
            if self._file is None or self._size > LONGEST_JOURNAL:
                self._begin(self._path)
            else:
                self._append(self._file, lines)
        except OSError as error:
            logger.warning(
                "%s: the journal of leases cannot be written; if this server is killed, waiting "
                "messages come again at their deadline: %s",
                self._subscription,
                error,
            )
            with suppress(OSError):
                self._path.unlink()
            self._path = None
            self._waiting.clear()

    def _begin(self, path: Path) -> None:
        """Start a new file with the waiting messages."""
        if self._file is not None:
            self._file.close()
        new = path.with_suffix(".new")
        self._size = 0
        self._file = new.open("wb", buffering=0)
        leases = (_line("leased", *each) for each in self._waiting.items())
        self._append(self._file, f"{self._subscription}\n{''.join(leases)}")
        new.replace(path)

    def _append(self, file: BinaryIO, lines: str) -> None:
        written = lines.encode()
        if file.write(written) != len(written):
            raise OSError("a line was written in part")
        self._size += len(written)


class LeaseJournals:
    """The journals of one server, below a lock that shows others that it is running.

    Args:
        root: the root of a store on a local disk, else None.
        server: a unique name of the server.
    """

    def __init__(self, root: str | None, server: str) -> None:
        machine = _machine()
        self._folder: Path | None = None
        self._own: Path | None = None
        self._lock: FileLock | None = None
        if root is not None and machine is not None:
            self._folder = Path(os.path.realpath(root), FOLDER)
            self._own = self._folder / f"{machine}.{server}"
            self._lock = _lock_of(self._own)

    def begin(self) -> None:
        """Take the lock, which the process holds until it ends."""
        if self._folder is None or self._own is None or self._lock is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            self._own.mkdir()  # after the lock: nobody sees the directory without it
        except (OSError, Timeout) as error:
            logger.warning("other servers cannot notice when this one is gone: %s", error)
            self._own = None

    def journal(self, subscription: str, uid: str) -> Journal:
        """Return the journal for the leases on a subscription."""
        return Journal(None if self._own is None else self._own / uid, subscription)

    def end(self) -> None:
        """Delete the directory and the lock."""
        if self._own is not None and self._lock is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            _forget(self._own, self._lock)

    @contextmanager
    def abandoned(self) -> Iterator[list[Abandoned]]:
        """Yield the leases that servers of this machine left when they ended.

        Their journals are deleted after the block, unless it raises an error.
        """
        gone = [(own, lock) for own in self._others() if (lock := _taken(own)) is not None]
        try:
            yield [each for own, _ in gone for each in _read_all(own)]
            for own, _ in gone:
                shutil.rmtree(own, ignore_errors=True)
        finally:
            for own, lock in gone:
                _forget(own, lock)

    def _others(self) -> list[Path]:
        if self._folder is None or self._own is None or not self._folder.exists():
            return []  # without the folder the store was removed
        alike = f"{self._own.name.partition('.')[0]}."
        found = (each for each in self._folder.iterdir() if each.name.startswith(alike))
        return [each for each in found if each != self._own and each.suffix != ".lock"]


def _machine() -> str | None:
    """Return the boot ID of this machine; None if it has none."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return None


def _lock_of(own: Path) -> FileLock:
    return FileLock(own.with_name(f"{own.name}.lock"), is_singleton=False)


def _taken(own: Path) -> FileLock | None:
    """Return the lock of a server that is gone; None if it is running."""
    lock = _lock_of(own)
    try:
        lock.acquire(timeout=0)
    except (OSError, Timeout):
        return None
    return lock


def _forget(own: Path, lock: FileLock) -> None:
    """Release a lock, and delete its file if its server's directory is gone."""
    if not own.exists():
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _read_all(own: Path) -> Iterator[Abandoned]:
    for path in own.iterdir() if own.exists() else ():  # its server has ended since it was found
        if _UID.fullmatch(path.name):
            found = _read(path)
            if found is not None and any(found.waiting.values()):
                yield found


def _read(path: Path) -> Abandoned | None:
    """Read a journal; None if its last line is not complete, as messages in it may be given."""
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        return None
    subscription, *lines = text.splitlines()
    found = Abandoned(subscription, path.name)
    for line in lines:
        what, lease_id, positions = line.split()
        named = Positions.from_bytes(bytes.fromhex(positions))
        held = found.waiting.get(int(lease_id), Positions())
        found.waiting[int(lease_id)] = held | named if what == "leased" else held - named
    return found


def _line(what: str, lease_id: int, positions: Positions) -> str:
    return f"{what} {lease_id} {positions.to_bytes().hex()}\n"
