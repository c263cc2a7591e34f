"""The ack state of each subscription, changed by compare-and-swap.

A state is replaced only if what is stored is still what was read, so two consumers can never lease
the same message: whoever comes second changes nothing, reads again and decides again.
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
_Ahead = AbstractContextManager[None]

REMEMBERED_COMMITS = 20
"""How many commit ids are stored, for a writer whose answer was lost to find its own."""

LEAP = 1 << 24
"""How many lease numbers are left out at most where a state is read to be changed.

An operator may RESTORE an earlier state. Were numbers given out one by one, those that were given
out since would be given out again, and an ack id of then would acknowledge a delivery of now.
"""


def _leap() -> int:
    return secrets.randbelow(LEAP)


@dataclass(frozen=True)
class Stored:
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

    def is_same(self, other: Stored) -> bool:
        """Tell whether two are one commit's. An older state that is restored has a revision again.

        >>> state = AckState(after_version=0)
        >>> Stored(state, 2, ("b", "a")).is_same(Stored(state, 2, ("c", "a")))
        False
        """
        return (self.revision, self.commit_id) == (other.revision, other.commit_id)


class Port(Protocol):
    """Where ack states are stored, by the uid of their subscription."""

    def create(self, uid: str, first: Stored) -> int | None:
        """Store the ack state of a new subscription; return its version, where it is known."""

    def read(self, uid: str) -> Stored:
        """Return what is stored; NotFound where it is gone."""

    def replace(self, uid: str, following: Stored, expected: Stored) -> bool:
        """Store a state if what is stored is the same as expected; tell whether it was.

        Raise Conflict if a concurrent writer was faster. After any other error it is open whether
        it was stored.
        """

    def locked(self, uid: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep others on this machine from replacing it, where that is of use."""


class AckStates:
    """Reads and replaces the ack states of a store.

    What this process wrote last is remembered, and a decision is first tried on that: the swap
    fails if it is out of date. So an operation that follows another need not read in between. Where
    others have written in between, the next operation reads first, until nobody has.

    Args:
        port: where they are stored.
        new_id: gives ids that no other commit has.
        sleep: waits before a lost race is run again.
        leap: draws how many lease numbers are left out after a read, up to ``LEAP``.
    """

    def __init__(
        self,
        port: Port,
        new_id: Callable[[], str],
        sleep: Callable[[float], None] = nap.sleep,
        leap: Callable[[], int] = _leap,
    ) -> None:
        self._port = port
        self._new_id = new_id
        self._sleep = sleep
        self._leap = leap
        self._written: dict[str, Stored] = {}
        self._shared: set[str] = set()
        self._turns: dict[str, threading.RLock] = {}

    def create(self, uid: str, state: AckState) -> None:
        """Store the ack state of a new subscription."""
        first = Stored(state, revision=1, recent_commits=(self._new_id(),))
        version = self._port.create(uid, first)
        self._written[uid] = replace(first, version=version)

    def read(self, uid: str) -> AckState:
        """Return a subscription's ack state as it is now."""
        return self._port.read(uid).state

    def written(self, uid: str) -> Stored | None:
        """Return what this process has written, if it was stored when that was last looked at."""
        return None if uid in self._shared else self._written.get(uid)

    def _turn(self, uid: str) -> threading.RLock:
        return self._turns.setdefault(uid, threading.RLock())

    def forget(self, uid: str) -> None:
        """Forget what is remembered of a subscription that is deleted or detached."""
        self._written.pop(uid, None)
        self._shared.discard(uid)
        self._turns.pop(uid, None)

    def change(self, uid: str, decide: Decide[T], ahead: Callable[[], _Ahead] = nullcontext) -> T:
        """Replace an ack state by what ``decide`` makes of it, and return decide's second value.

        ``decide`` may be called more than once. Nothing is written where it changes nothing.
        Threads take turns, so that only other processes can be faster. ``ahead``: begins what
        ``decide`` will look at, while the state is read.
        Raise Aborted after too many lost races, Unknown where it cannot be told who won.
        """
        with self._turn(uid):
            return self._change(uid, decide, ahead)

    def _change(self, uid: str, decide: Decide[T], ahead: Callable[[], _Ahead]) -> T:
        remembered = self._written.get(uid)
        if remembered is not None and uid not in self._shared:
            state, result = decide(remembered.state)
            if state == remembered.state:
                if self._port.read(uid).is_same(remembered):
                    return result
                self._written.pop(uid, None)
            elif self._swap(uid, remembered, state, wait=False):
                return result
            self._shared.add(uid)

        def attempt() -> T:
            # On a local disk the lock lets a slow process have its turn among quick ones.
            with self._port.locked(uid), ahead():
                stored = self._port.read(uid)
                if remembered is not None and stored.is_same(remembered):
                    self._shared.discard(uid)
                number = stored.state.next_lease_id + self._leap()
                given = replace(stored.state, next_lease_id=number)
                state, result = decide(given)
                if state != given and not self._swap(uid, stored, state):
                    raise Conflict("the ack state has moved on")
                return result

        return repeat_on_conflict(attempt, f"subscription {uid}", self._sleep)

    def _swap(self, uid: str, stored: Stored, state: AckState, *, wait: bool = True) -> bool:
        """Write the state over the stored one; tell whether that was still the one stored."""
        commit_id = self._new_id()
        recent = (commit_id, *stored.recent_commits)[:REMEMBERED_COMMITS]
        version = None if stored.version is None else stored.version + 1
        following = Stored(state, stored.revision + 1, recent, version)
        self._written.pop(uid, None)
        try:
            with self._port.locked(uid, wait=wait):
                landed = self._port.replace(uid, following, stored)
        except Conflict:
            # An object store's client sends a put again whose answer was lost, and then meets
            # its own commit: that is no lost race.
            landed = commit_id in self._port.read(uid).recent_commits
        except Exception as error:
            landed = self._has_landed(uid, commit_id, stored.revision, error)
        if landed:
            self._written[uid] = following
        return landed

    def _has_landed(self, uid: str, commit_id: str, expected: int, error: Exception) -> bool:
        """Find out what became of a swap whose answer was lost; raise what it raised otherwise."""
        now = self._port.read(uid)
        if commit_id in now.recent_commits:
            return True
        if now.revision <= expected:  # below it, what was read is older than the swap
            raise error
        if now.revision - expected >= REMEMBERED_COMMITS:
            raise Unknown(
                f"subscription {uid}: a change was sent, its answer was lost, and too many "
                "others followed to tell whether it landed"
            ) from error
        return False
