"""Measures many topics and subscriptions in the background, while a page shows them.

A page shows the last measurements at once, and refreshes.
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

MAX_AGE = timedelta(seconds=8)
"""Resources on the page are measured again at this age."""
MAX_AGE_OF_OTHERS = timedelta(seconds=60)
"""Other resources are measured again at this age, for the order of the list."""


@dataclass(frozen=True)
class Measurement(Generic[T]):
    """The metrics of a resource at a time.

    ``value``: the metrics; None after an error, which is in ``problem``. ``total``: the count that
    has a rate. ``rate``: its increase per second; None for the first measurement.
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
        measure: returns the metrics of a resource.
        total: returns the count of metrics that has a rate.
        at_present: returns the time.
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
        self._by_name: dict[str, Measurement[T]] = {}
        self._every: dict[str, str] = {}
        self._names: list[str] = []
        self._rest: deque[str] = deque()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def latest(
        self, every: Mapping[str, str], shown: Iterable[str], timeout: float
    ) -> dict[str, Measurement[T]]:
        """Return the last measurements, after waiting for those of the resources on the page.

        Args:
            every: the uid of each resource by its name; measurements of another uid are dropped.
            shown: the names of the resources on the page.
            timeout: the longest wait, in seconds.
        """
        names = list(shown)
        with self._lock:
            self._every, self._names = dict(every), names
            self._by_name = {n: m for n, m in self._by_name.items() if every.get(n) == m.uid}
            if self._thread is None and not self._is_closed:
                thread = threading.Thread(target=self._run, name="metrics", daemon=True)
                thread.start()
                self._thread = thread
            self._lock.wait_for(lambda: self._are_fresh(names), timeout)
            return dict(self._by_name)

    def close(self) -> None:
        """Stop measuring, and wait for the current measurement."""
        with self._lock:
            self._is_closed = True
            thread = self._thread
        if thread is not None:
            thread.join(10)

    def _are_fresh(self, names: Iterable[str]) -> bool:
        now = self._at_present()
        return all(n in self._by_name and self._by_name[n].at + MAX_AGE >= now for n in names)

    def _run(self) -> None:
        while True:
            with self._lock:
                name = None if self._is_closed else self._next()
                if name is None:
                    self._thread = None
                    return
                uid, before = self._every[name], self._by_name.get(name)
            found = self._measured(name, uid, before)
            with self._lock:
                if self._every.get(name) == uid:
                    self._by_name[name] = found
                self._lock.notify_all()

    def _next(self) -> str | None:
        """Return the resource to measure next: first those on the page, then the others."""
        for name in self._names:
            if self._is_due(name, MAX_AGE):
                return name
        while True:
            while self._rest:
                name = self._rest.popleft()
                if self._is_due(name, MAX_AGE_OF_OTHERS):
                    return name
            self._rest.extend(n for n in self._every if self._is_due(n, MAX_AGE_OF_OTHERS))
            if not self._rest:
                return None

    def _is_due(self, name: str, max_age: timedelta) -> bool:
        known = self._by_name.get(name)
        if name not in self._every:
            return False
        return known is None or known.at + max_age < self._at_present()

    def _measured(self, name: str, uid: str, before: Measurement[T] | None) -> Measurement[T]:
        at = self._at_present()
        try:
            value = self._measure(name)
        except PubSubError as error:
            return Measurement(uid, at, None, problem=str(error))
        except Exception as error:  # one damaged table does not stop the others
            return Measurement(uid, at, None, problem=f"{type(error).__name__}: {error}")
        total, rate = self._total(value), None
        if before is not None and before.value is not None:
            seconds = (at - before.at).total_seconds()
            rate = max(0.0, total - before.total) / seconds if seconds > 0 else before.rate
        return Measurement(uid, at, value, total, rate)
