"""The ack state of each subscription, changed by compare-and-swap.

A state is replaced only if what is stored is still what was read, so two consumers can never lease
the same message: the second one changes nothing, reads again and decides again.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from tenacity import nap

from pubsub_delta.errors import Unknown
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.lanes.retries import repeat_on_conflict

T = TypeVar("T")
Decide = Callable[[AckState], "tuple[AckState, T]"]
_Prefetch = Callable[[], AbstractContextManager[None]]

RECENT_COMMITS = 20
"""Commit ids that are stored, so that a writer whose answer was lost finds its own commit."""

MAX_LEASE_ID_GAP = 1 << 24
"""Lease ids that are skipped at most where a state is read to be changed.

An operator may RESTORE an earlier state. Without a gap, lease ids issued since would be issued
again, and an old ack id would acknowledge a new delivery.
"""


def _random_gap() -> int:
    return secrets.randbelow(MAX_LEASE_ID_GAP)


@dataclass(frozen=True)
class StoredAckState:
    """An ack state as it is stored.

    ``revision``: how often it was written. ``recent_commits``: the ids of its last commits, its own
    first. ``version``: of its table, where it is known; the next one is that of the next state.
    """

    state: AckState
    revision: int
    recent_commits: tuple[str, ...] = ()
    version: int | None = field(default=None, compare=False)

    @property
    def commit_id(self) -> str:
        """The id of the commit that wrote it, which no other commit has."""
        return self.recent_commits[0] if self.recent_commits else ""

    def is_same(self, other: StoredAckState) -> bool:
        """Tell whether two are one commit's. An older state that is restored has a revision again.

        >>> state = AckState(after_version=0)
        >>> StoredAckState(state, 2, ("b", "a")).is_same(StoredAckState(state, 2, ("c", "a")))
        False
        """
        return (self.revision, self.commit_id) == (other.revision, other.commit_id)


class AckStateStorage(Protocol):
    """Where ack states are stored, by the uid of their subscription."""

    def create(self, uid: str, first: StoredAckState) -> int | None:
        """Store the ack state of a new subscription; return its version, where it is known."""

    def read(self, uid: str) -> StoredAckState:
        """Return what is stored; DataLoss where it is gone."""

    def replace(self, uid: str, following: StoredAckState, expected: StoredAckState) -> bool:
        """Store a state if what is stored is the same as expected; tell whether it was.

        Raise Conflict if a concurrent writer was faster. After any other error it is open whether
        it was stored.
        """

    def locked(self, uid: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep others on this machine from replacing it, where that is of use."""


class AckStates:
    """Reads and replaces the ack states of a store.

    The state that this process wrote last is cached, and a decision is first tried on it: the swap
    fails if the cache is out of date. So consecutive operations of one process need no read. After
    another process has written, the next operation reads first, until no other has written.

    Args:
        storage: stores them.
        new_id: gives ids that no other commit has.
        sleep: waits before a lost race is run again.
        lease_id_gap: draws how many lease ids are skipped after a read, below ``MAX_LEASE_ID_GAP``.
    """

    def __init__(
        self,
        storage: AckStateStorage,
        new_id: Callable[[], str],
        sleep: Callable[[float], None] = nap.sleep,
        lease_id_gap: Callable[[], int] = _random_gap,
    ) -> None:
        self._storage = storage
        self._new_id = new_id
        self._sleep = sleep
        self._lease_id_gap = lease_id_gap
        self._cache: dict[str, StoredAckState] = {}
        self._contended: set[str] = set()
        self._locks: dict[str, threading.RLock] = {}

    def create(self, uid: str, state: AckState) -> None:
        """Store the ack state of a new subscription."""
        first = StoredAckState(state, revision=1, recent_commits=(self._new_id(),))
        version = self._storage.create(uid, first)
        self._cache[uid] = replace(first, version=version)

    def read(self, uid: str) -> AckState:
        """Return a subscription's ack state as it is now."""
        return self._storage.read(uid).state

    def cached(self, uid: str) -> StoredAckState | None:
        """Return what this process wrote last; None where another process has written since."""
        return None if uid in self._contended else self._cache.get(uid)

    def _lock(self, uid: str) -> threading.RLock:
        return self._locks.setdefault(uid, threading.RLock())

    def forget(self, uid: str) -> None:
        """Drop the cached state and the lock of a subscription that is deleted or detached."""
        self._cache.pop(uid, None)
        self._contended.discard(uid)
        self._locks.pop(uid, None)

    def change(self, uid: str, decide: Decide[T], prefetching: _Prefetch = nullcontext) -> T:
        """Replace an ack state by what ``decide`` makes of it, and return decide's second value.

        ``decide`` may be called more than once. Nothing is written where it changes nothing.
        A lock lets one thread decide at a time, so that only other processes can be faster.
        ``prefetching``: reads what ``decide`` will need, while the state is read.
        Raise Aborted after too many lost races, Unknown where the winner cannot be determined.
        """
        with self._lock(uid):
            return self._change(uid, decide, prefetching)

    def _change(self, uid: str, decide: Decide[T], prefetching: _Prefetch) -> T:
        cached = self._cache.get(uid)
        if cached is not None and uid not in self._contended:
            state, result = decide(cached.state)
            if state == cached.state:
                if self._storage.read(uid).is_same(cached):
                    return result
                self._cache.pop(uid, None)
            elif self._swap(uid, cached, state, wait=False):
                return result
            self._contended.add(uid)

        def attempt() -> T:
            # On a local disk the lock keeps quick processes from starving a slow one.
            with self._storage.locked(uid), prefetching():
                stored = self._storage.read(uid)
                if cached is not None and stored.is_same(cached):
                    self._contended.discard(uid)
                number = stored.state.next_lease_id + self._lease_id_gap()
                before = replace(stored.state, next_lease_id=number)
                state, result = decide(before)
                if state != before and not self._swap(uid, stored, state):
                    raise Conflict("the ack state has moved on")
                return result

        return repeat_on_conflict(attempt, f"subscription {uid}", self._sleep)

    def _swap(
        self, uid: str, stored: StoredAckState, state: AckState, *, wait: bool = True
    ) -> bool:
        """Write the state over the stored one; tell whether that was still the one stored."""
        commit_id = self._new_id()
        recent = (commit_id, *stored.recent_commits)[:RECENT_COMMITS]
        version = None if stored.version is None else stored.version + 1
        following = StoredAckState(state, stored.revision + 1, recent, version)
        self._cache.pop(uid, None)
        try:
            with self._storage.locked(uid, wait=wait):
                landed = self._storage.replace(uid, following, stored)
        except Conflict:
            # An object store's client sends a put again whose answer was lost, and then meets
            # its own commit: that is no lost race.
            landed = commit_id in self._storage.read(uid).recent_commits
        except Exception as error:
            landed = self._has_landed(uid, commit_id, stored.revision, error)
        if landed:
            self._cache[uid] = following
        return landed

    def _has_landed(self, uid: str, commit_id: str, expected: int, error: Exception) -> bool:
        """Find out what became of a swap whose answer was lost; raise what it raised otherwise."""
        now = self._storage.read(uid)
        if commit_id in now.recent_commits:
            return True
        if now.revision <= expected:  # below it, what was read is older than the swap
            raise error
        if now.revision - expected >= RECENT_COMMITS:
            raise Unknown(
                f"subscription {uid}: a change was sent, its answer was lost, and too many "
                "others followed to tell whether it landed"
            ) from error
        return False
