"""Figures of many subscriptions and topics: measured in the background, for whoever looks.

A page shows at once what is known and asks again. Nothing is measured while nobody looks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from pubsub_delta.errors import PubSubError

T = TypeVar("T")

FRESH = timedelta(seconds=8)
"""What a page shows is measured anew when it is older."""
FRESH_ELSEWHERE = timedelta(seconds=60)
"""What it does not show, so that the worst come first."""


@dataclass(frozen=True)
class Measurement(Generic[T]):
    """What was measured of a resource at a time. ``rate``: a second, None without an earlier one.

    ``value`` is None where it cannot be measured, and ``problem`` tells why.
    """

    uid: str
    at: datetime
    value: T | None
    total: float = 0
    rate: float | None = None
    problem: str = ""


class Measurements(Generic[T]):
    """The last measurement of each resource of a kind, by its full name.

    Args:
        measure: measures a resource of a name.
        total: what of a value grows, and has a rate.
        at_present: tells the time.
    """

    def __init__(
        self,
        measure: Callable[[str], T],
        total: Callable[[T], float],
        at_present: Callable[[], datetime],
    ) -> None:
        self._measure = measure
        self._total = total
        self._at_present = at_present
        self._lock = threading.Condition()
        self._known: dict[str, Measurement[T]] = {}
        self._every: dict[str, str] = {}
        self._shown: list[str] = []
        self._rest: deque[str] = deque()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def look(
        self, every: Mapping[str, str], shown: Iterable[str], patience: float
    ) -> dict[str, Measurement[T]]:
        """Return what is known of all resources, after a short wait for those of a page.

        ``every``: the uid of each resource by its name. What was of another one of that name, which
        was deleted, is not told. ``shown``: the names of those on the page.
        """
        names = list(shown)
        with self._lock:
            self._every, self._shown = dict(every), names
            self._known = {n: m for n, m in self._known.items() if every.get(n) == m.uid}
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="figures", daemon=True)
                self._thread.start()
            self._lock.wait_for(lambda: self._is_told(names), patience)
            return dict(self._known)

    def close(self) -> None:
        """Measure nothing any more, and wait for what is under way."""
        with self._lock:
            self._is_closed = True
            thread = self._thread
        if thread is not None:
            thread.join(10)

    def _is_told(self, names: Iterable[str]) -> bool:
        now = self._at_present()
        return all(n in self._known and self._known[n].at + FRESH >= now for n in names)

    def _run(self) -> None:
        while True:
            with self._lock:
                name = None if self._is_closed else self._next()
                if name is None:
                    self._thread = None
                    return
                uid, before = self._every[name], self._known.get(name)
            found = self._measured(name, uid, before)
            with self._lock:
                if self._every.get(name) == uid:
                    self._known[name] = found
                self._lock.notify_all()

    def _next(self) -> str | None:
        """Return what is to be measured next: what a page shows first, then the rest."""
        for name in self._shown:
            if self._is_due(name, FRESH):
                return name
        while True:
            while self._rest:
                name = self._rest.popleft()
                if self._is_due(name, FRESH_ELSEWHERE):
                    return name
            self._rest.extend(n for n in self._every if self._is_due(n, FRESH_ELSEWHERE))
            if not self._rest:
                return None

    def _is_due(self, name: str, fresh: timedelta) -> bool:
        known = self._known.get(name)
        if name not in self._every:
            return False
        return known is None or known.at + fresh < self._at_present()

    def _measured(self, name: str, uid: str, before: Measurement[T] | None) -> Measurement[T]:
        at = self._at_present()
        try:
            value = self._measure(name)
        except PubSubError as error:
            return Measurement(uid, at, None, problem=str(error))
        except Exception as error:  # a damaged table of one is no reason to tell nothing of others
            return Measurement(uid, at, None, problem=f"{type(error).__name__}: {error}")
        total, rate = self._total(value), None
        if before is not None and before.value is not None:
            seconds = (at - before.at).total_seconds()
            rate = max(0.0, total - before.total) / seconds if seconds > 0 else before.rate
        return Measurement(uid, at, value, total, rate)
