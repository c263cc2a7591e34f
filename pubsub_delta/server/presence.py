"""Presence: that a server lives, and what it has leased and not given to anybody yet.

A server on a local disk keeps a directory of its own in ``_servers`` below the root, and holds a
lock beside it for as long as its process lives. Another server on the same machine that can take
this lock knows that the first one is gone, and makes available at once what nobody was given. What
consumers were given stays theirs: it is leased until their deadlines.

A process that is stopped holds its lock; one whose number is used again does not. The lock of
another machine cannot be judged, on a shared file system neither: there, and where the store is on
object storage, leases end by themselves.
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
"""Bytes: then it is begun anew, with what waits still."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Tells a running machine from any other, and from itself before it was started anew."""
_UID = re.compile(r"[0-9a-f]{32}")


@dataclass
class Abandoned:
    """What a server that is gone has leased of a subscription and given to nobody."""

    subscription: str
    uid: str
    waiting: dict[int, Positions] = field(default_factory=dict)


class Journal:
    """What one server has leased of one subscription, as others may read it.

    It is written before anything is given away: what stands there as waiting was sent to nobody.

    Args:
        path: where it is written; None where nobody could know that this server is gone.
        subscription: the full name.
    """

    def __init__(self, path: Path | None, subscription: str) -> None:
        self._path = path
        self._subscription = subscription
        self._waiting: dict[int, Positions] = {}
        self._file: BinaryIO | None = None
        self._size = 0

    def leased(self, lease_id: int, positions: Positions) -> None:
        """Note a lease down, of which nothing is given yet."""
        self._waiting[lease_id] = positions
        self._write(_line("leased", lease_id, positions))

    def given(self, deliveries: Iterable[Delivery]) -> None:
        """Note down that messages are about to be given to consumers."""
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
        """Forget everything: the server has leased nothing of the subscription any more."""
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
                "%s: what waits for its clients cannot be noted down, and comes again somewhat "
                "later if this server is killed: %s",
                self._subscription,
                error,
            )
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self._path = None

    def _begin(self, path: Path) -> None:
        """Write what waits now in place of all that was written."""
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
            raise OSError("the disk took a part of a line")
        self._size += len(written)


class Presence:
    """That this server lives, for others on the same machine.

    Args:
        root: the root of the store on a local disk; None where it is elsewhere.
        server: a name that no other server has.
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
        """Take the lock, and keep it until the process ends."""
        if self._folder is None or self._own is None or self._lock is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            self._own.mkdir()  # whoever sees it finds the lock taken
        except (OSError, Timeout) as error:
            logger.warning("others cannot notice when this server is gone: %s", error)
            self._own = None

    def journal(self, subscription: str, uid: str) -> Journal:
        """Return where it is noted down what is leased of a subscription."""
        return Journal(None if self._own is None else self._own / uid, subscription)

    def end(self) -> None:
        """Leave nothing behind."""
        if self._own is not None and self._lock is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            _forget(self._own, self._lock)

    @contextmanager
    def abandoned(self) -> Iterator[list[Abandoned]]:
        """Give what servers of this machine have left that are gone; it is forgotten afterwards.

        Where an error is raised it stays, for another time.
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
        if self._folder is None or self._own is None:
            return []
        alike = f"{self._own.name.partition('.')[0]}."
        found = (each for each in self._folder.iterdir() if each.name.startswith(alike))
        return [each for each in found if each != self._own and each.suffix != ".lock"]


def _machine() -> str | None:
    """Return what tells this machine, as it runs now, from any other; None where nothing does."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return None


def _lock_of(own: Path) -> FileLock:
    return FileLock(own.with_name(f"{own.name}.lock"), is_singleton=False)


def _taken(own: Path) -> FileLock | None:
    """Return the lock of a server that is gone; None of one that lives."""
    lock = _lock_of(own)
    try:
        lock.acquire(timeout=0)
    except (OSError, Timeout):
        return None
    return lock


def _forget(own: Path, lock: FileLock) -> None:
    """Let go of a lock, and remove it with its server: no other ever has that name."""
    if not own.exists():
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _read_all(own: Path) -> Iterator[Abandoned]:
    for path in own.iterdir():
        if _UID.fullmatch(path.name):
            found = _read(path)
            if found is not None and any(found.waiting.values()):
                yield found


def _read(path: Path) -> Abandoned | None:
    """Read a journal; None where it ends within a line: then nobody knows what was given last."""
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
