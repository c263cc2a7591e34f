"""A cache of the IAM policies that are stored with topics, subscriptions and snapshots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pubsub_delta.clock import uptime
from pubsub_delta.policy.iam import Binding

CACHE_SECONDS = 5.0
"""How long bindings are cached; a change by another process is in force after that."""

Bindings = Mapping[str, Sequence[Binding]]


@dataclass(frozen=True)
class _Read:
    generation: int
    at: float
    bindings: Bindings


class StoredPolicies:
    """The bindings of all resources, read at most ``CACHE_SECONDS`` ago.

    Args:
        read: returns the bindings of all resources, by name.
        uptime: a monotonic clock, in seconds.
    """

    def __init__(self, read: Callable[[], Bindings], uptime: Callable[[], float] = uptime) -> None:
        self._read = read
        self._uptime = uptime
        self._lock = threading.Lock()
        self._generation = 0
        self._last: _Read | None = None

    def cached(self) -> Bindings | None:
        """Return the cached bindings; None if they must be read."""
        last = self._last
        if last is None or last.generation != self._generation:
            return None
        return last.bindings if self._uptime() - last.at < CACHE_SECONDS else None

    def current(self) -> Bindings:
        """Return the bindings, and read them if they are not cached; it may wait for the store."""
        with self._lock:
            while (bindings := self.cached()) is None:
                # A read that began before ``forget`` does not count.
                generation, at = self._generation, self._uptime()
                self._last = _Read(generation, at, self._read())
            return bindings

    def forget(self) -> None:
        """Drop the cache: this server has changed a policy."""
        self._generation += 1
