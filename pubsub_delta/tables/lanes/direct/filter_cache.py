"""A cache of the messages of data files that pass a filter; a data file never changes.

The console, metrics and previews of a seek read a subscription with a filter repeatedly. Each read
opens only files that no read has opened before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from pubsub_delta.clock import to_micros
from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.scans import Window

MOST_BYTES = 1 << 26
"""The most bytes of the cache. The least recently used entry is dropped first."""
_LEAST_BYTES = 1 << 10
"""The least bytes that a file counts: its name and a set of few positions."""

_Key = tuple[str, str, Filter]


@dataclass(frozen=True)
class PassingMessages:
    """The messages of a file that pass a filter, and their first and last publish time.

    The times are in microseconds, as the log may have them cut to milliseconds.
    """

    positions: Positions
    earliest: int
    latest: int

    def is_within(self, window: Window) -> bool:
        """Return whether all of them were published within the times of a window."""
        if not self.positions:
            return True
        starts = window.earliest is None or to_micros(window.earliest) <= self.earliest
        return starts and (window.latest is None or self.latest <= to_micros(window.latest))


class FilterCache:
    """The messages that pass a filter, by table id, file and filter."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._cached: OrderedDict[_Key, tuple[int, PassingMessages]] = OrderedDict()
        self._bytes = 0

    def find(self, table_id: str, path: str, filter_: Filter) -> PassingMessages | None:
        """Return the passing messages of a file; None if they are not cached."""
        with self._lock:
            found = self._cached.get((table_id, path, filter_))
            if found is None:
                return None
            self._cached.move_to_end((table_id, path, filter_))
            return found[1]

    def add(
        self, table_id: str, path: str, filter_: Filter, rows: int, passing: PassingMessages
    ) -> None:
        """Cache the passing messages of a file; the entry takes at most a bit for each row."""
        size = max(_LEAST_BYTES, rows // 8)
        with self._lock:
            before = self._cached.pop((table_id, path, filter_), None)
            self._bytes += size - (0 if before is None else before[0])
            self._cached[table_id, path, filter_] = size, passing
            while self._bytes > self._most_bytes:
                self._bytes -= self._cached.popitem(last=False)[1][0]
