"""The ack state of each subscription, changed by compare-and-swap.

A state is replaced only if the stored one is still the one that was read. So two consumers can
never lease the same message: the second one changes nothing, reads again and decides again.
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
"""The number of stored commit ids, by which a writer finds a commit without a response."""

MAX_LEASE_ID_GAP = 1 << 24
"""The most lease ids to skip when a state is read for a change. An operator can RESTORE an earlier
state. Without a gap, lease ids issued since would be issued again, and an old ack id would
acknowledge a new delivery.
"""


def _random_gap() -> int:
    return secrets.randbelow(MAX_LEASE_ID_GAP)


@dataclass(frozen=True)
class StoredAckState:
    """An ack state as it is stored.

    ``revision``: how often it was written. ``recent_commits``: the ids of its last commits, its own
    first. ``version``: of its table, if known; the next state has the next version.
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
        """Return whether two states are of one commit; a restored state repeats a revision.

        >>> state = AckState(after_version=0)
        >>> StoredAckState(state, 2, ("b", "a")).is_same(StoredAckState(state, 2, ("c", "a")))
        False
        """
        return (self.revision, self.commit_id) == (other.revision, other.commit_id)


class AckStateStorage(Protocol):
    """The storage of ack states, by the uid of their subscription."""

    def create(self, uid: str, first: StoredAckState) -> int | None:
        """Store the ack state of a new subscription; return its version, if known."""

    def read(self, uid: str) -> StoredAckState:
        """Return what is stored; DataLoss where it is gone."""

    def replace(self, uid: str, following: StoredAckState, expected: StoredAckState) -> bool:
        """Store a state if the stored one is the expected one; return whether it was.

        Conflict if a concurrent writer was faster. After any other error the state may have been
        stored.
        """

    def locked(self, uid: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine from replacing the state, if that helps."""


class AckStates:
    """Reads and replaces the ack states of a store.

    The state that this process wrote last is cached, and a decision is first tried on it: the swap
    fails if the cache is out of date. So consecutive operations of one process need no read. After
    another process has written, the next operation reads first, until no other has written.

    Args:
        storage: stores them.
        new_id: returns ids that no other commit has.
        sleep: waits before a lost race is run again.
        lease_id_gap: returns how many lease ids to skip after a read, below ``MAX_LEASE_ID_GAP``.
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
        """Return the present ack state of a subscription."""
        return self._storage.read(uid).state

    def _lock(self, uid: str) -> threading.RLock:
        return self._locks.setdefault(uid, threading.RLock())

    def forget(self, uid: str) -> None:
        """Drop the cached state and the lock of a subscription that is deleted or detached."""
        self._cache.pop(uid, None)
        self._contended.discard(uid)
        self._locks.pop(uid, None)

    def change(self, uid: str, decide: Decide[T], prefetching: _Prefetch = nullcontext) -> T:
        """Replace an ack state by the result of ``decide``, and return decide's second value.

        ``decide`` can be called more than once. Without a change nothing is written. A lock lets
        one thread decide at a time, so that only other processes can be faster. ``prefetching``:
        reads the tables that ``decide`` needs, while the state is read. Aborted after too many lost
        races, Unknown if the winner cannot be determined.
        """
        with self._lock(uid):
            return self._change(uid, decide, prefetching)

    def update(self, uid: str, step: Callable[[AckState], AckState]) -> AckState:
        """Replace an ack state by what ``step`` returns for it, as ``change`` does; return that."""

        def decide(state: AckState) -> tuple[AckState, AckState]:
            following = step(state)
            return following, following

        return self.change(uid, decide)

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
        """Replace the stored state; return whether it was still the expected one."""
        commit_id = self._new_id()
        recent = (commit_id, *stored.recent_commits)[:RECENT_COMMITS]
        version = None if stored.version is None else stored.version + 1
        following = StoredAckState(state, stored.revision + 1, recent, version)
        self._cache.pop(uid, None)
        try:
            with self._storage.locked(uid, wait=wait):
                landed = self._storage.replace(uid, following, stored)
        except Conflict:
            # The client of an object store repeats a put whose response was lost, and can then find
            # its own commit, which is not a lost race.
            landed = commit_id in self._storage.read(uid).recent_commits
        except Exception as error:
            landed = self._has_landed(uid, commit_id, stored.revision, error)
        if landed:
            self._cache[uid] = following
        return landed

    def _has_landed(self, uid: str, commit_id: str, expected: int, error: Exception) -> bool:
        """Return the outcome of a swap whose response was lost; raise its error if unknown."""
        now = self._storage.read(uid)
        if commit_id in now.recent_commits:
            return True
        if now.revision <= expected:  # below it, the read is older than the swap
            raise error
        if now.revision - expected >= RECENT_COMMITS:
            raise Unknown(
                f"subscription {uid}: a change was sent, its answer was lost, and so many others "
                "followed that it cannot be found again; it may have landed"
            ) from error
        return False
