"""Stored policies: the bindings that are kept with topics, subscriptions and snapshots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pubsub_delta.clock import uptime
from pubsub_delta.policy.iam import Binding

FRESH = 5.0
"""Seconds for which what was read holds: what others change is in force after that."""

Bindings = Mapping[str, Sequence[Binding]]


@dataclass(frozen=True)
class _Read:
    generation: int
    at: float
    bindings: Bindings


class StoredPolicies:
    """What the store says of who may do what, as it was within the last seconds.

    Args:
        read: reads the bindings of all resources, by name.
        uptime: seconds that pass evenly.
    """

    def __init__(self, read: Callable[[], Bindings], uptime: Callable[[], float] = uptime) -> None:
        self._read = read
        self._uptime = uptime
        self._lock = threading.Lock()
        self._generation = 0
        self._last: _Read | None = None

    def known(self) -> Bindings | None:
        """Return the bindings if they are fresh; nothing is read."""
        last = self._last
        if last is None or last.generation != self._generation:
            return None
        return last.bindings if self._uptime() - last.at < FRESH else None

    def current(self) -> Bindings:
        """Return the bindings; they are read where they are not fresh. It may wait for that."""
        with self._lock:
            while (bindings := self.known()) is None:
                # Read after it was forgotten, or it is read once more.
                generation, at = self._generation, self._uptime()
                self._last = _Read(generation, at, self._read())
            return bindings

    def forget(self) -> None:
        """Read again when it is asked for: this server has changed something."""
        self._generation += 1
