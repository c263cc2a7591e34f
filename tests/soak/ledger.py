"""What a program has published to a topic, and what has come of it."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

SETTLED = 1.0
"""Seconds after the answer to an acknowledgement in which it has been committed: in between the
message may come again, unless delivery is exactly-once."""
WINDOW = 10.0
"""Seconds of publishing of which latencies are told together."""


@dataclass
class Outcome:
    """How the load of one program ended.

    ``lost``: published and answered, and never acknowledged. ``doubled``: delivered again after an
    acknowledgement that had been answered and had settled. A client that gets no answer to a
    publish repeats it: that copy has an ID of its own, and ``extra`` counts its deliveries.
    ``disordered``: first deliveries of an ordering key out of the order of publishing. ``windows``:
    p50 and p99 of the milliseconds from a publish call to the first delivery, by the seconds since
    the start.
    """

    program: str
    published: int = 0
    acknowledged: int = 0
    delivered: int = 0
    lost: int = 0
    doubled: int = 0
    disordered: int = 0
    errors: list[str] = field(default_factory=list)
    extra: dict[str, int] = field(default_factory=dict)
    windows: list[tuple[float, float, float]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Ledger:
    """Notes down deliveries and acknowledgements of numbered messages, in any thread.

    Args:
        program: the name of the program.
        settled: seconds after which an answered acknowledgement is final.
        began: the time of the start, as ``time.time`` gives it.
    """

    def __init__(self, program: str, began: float, settled: float = SETTLED) -> None:
        self.outcome = Outcome(program)
        self._began = began
        self._settled = settled
        self._lock = threading.Lock()
        self._published = bytearray()
        self._delivered = bytearray()
        self._acknowledged: dict[int, float] = {}
        self._ids: dict[int, str] = {}
        self._highest: dict[str, int] = {}
        self._latencies: dict[int, list[float]] = {}

    def published(self, number: int) -> None:
        """Note that the publish of a message was answered."""
        with self._lock:
            _set(self._published, number)

    def delivered(self, number: int, message_id: str, sent: float, key: str = "") -> bool:
        """Note a delivery of a message; return whether its number comes for the first time."""
        now = time.time()
        with self._lock:
            self.outcome.delivered += 1
            if self._ids.setdefault(number, message_id) != message_id:
                self._count("deliveries of a repeated publish")
                return False
            acknowledged = self._acknowledged.get(number)
            if acknowledged is not None and now > acknowledged + self._settled:
                self.outcome.doubled += 1
            if number < len(self._delivered) and self._delivered[number]:
                return False
            _set(self._delivered, number)
            if key:
                self.outcome.disordered += self._highest.get(key, -1) > number
                self._highest[key] = max(number, self._highest.get(key, -1))
            window = int((sent - self._began) / WINDOW)
            self._latencies.setdefault(window, []).append(now - sent)
            return True

    def acknowledged(self, number: int) -> None:
        """Note that the acknowledgement of a message was answered."""
        with self._lock:
            self._acknowledged.setdefault(number, time.time())

    def error(self, error: object) -> None:
        """Note an error that the load does not expect."""
        with self._lock:
            if len(self.outcome.errors) < 20:
                told = f"{time.time() - self._began:.0f} s: {type(error).__name__}: {error}"
                self.outcome.errors.append(told[:300])

    def count(self, name: str) -> None:
        """Count something by its name."""
        with self._lock:
            self._count(name)

    def _count(self, name: str) -> None:
        self.outcome.extra[name] = self.outcome.extra.get(name, 0) + 1

    @property
    def missing(self) -> list[int]:
        """The numbers that were published and are not acknowledged."""
        with self._lock:
            return [n for n, is_there in enumerate(self._published) if is_there and not self._is(n)]

    def _is(self, number: int) -> bool:
        return number in self._acknowledged

    def close(self) -> Outcome:
        """Return how it ended."""
        missing = self.missing
        told = self.outcome
        told.lost = len(missing)
        told.published = sum(self._published)
        told.acknowledged = len(self._acknowledged)
        for window, found in sorted(self._latencies.items()):
            found.sort()
            p50, p99 = found[len(found) // 2], found[min(len(found) - 1, len(found) * 99 // 100)]
            told.windows.append((window * WINDOW, round(p50 * 1000), round(p99 * 1000)))
        return told


def _set(flags: bytearray, number: int) -> None:
    if number >= len(flags):
        flags.extend(bytes(number + 1000 - len(flags)))
    flags[number] = 1
