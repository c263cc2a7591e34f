"""The push window of an endpoint: the number of concurrent requests, and the pause after failures.

Pub/Sub: a push window grows by slow start while requests succeed, and shrinks when they fail. With
too many failures delivery pauses for 100 milliseconds to 60 seconds (push backoff).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

FIRST_SIZE = 5
SLOW_START_ENDS = 64
LARGEST_SIZE = 256
"""The most requests to one endpoint at a time."""

SHORTEST_PAUSE = timedelta(milliseconds=100)
LONGEST_PAUSE = timedelta(seconds=60)
LONGEST_PAUSE_WITH_RETRY_POLICY = timedelta(seconds=1)
_MOST_FAILURES = 11
"""Failures are counted up to here: by then the pause is the longest."""


@dataclass(frozen=True)
class PushWindow:
    """The number of concurrent requests to an endpoint, and the end of a pause.

    A success makes the window one larger, which doubles it with every round of requests; from 64 on
    it grows by one with every round, up to 256. A failure halves it, down to one. Failures of
    requests that were sent before the last halving do not count: a round is one failure. A halving
    that is later than now was before the clock was set back, and does not count.

    ``failures``: rounds that failed, less the successes since. The k-th begins a pause of
    100 ms × 2^(k-1), at most 60 s. With a retry policy the failed message waits by that policy and
    the others go on: there is a pause only at a window of one, and of at most 1 s.

    >>> PushWindow().succeeded().requests
    6
    """

    size: float = FIRST_SIZE
    failures: int = 0
    halved_at: datetime | None = None
    paused_until: datetime | None = None

    @property
    def requests(self) -> int:
        """The number of concurrent requests."""
        return int(self.size)

    def succeeded(self) -> PushWindow:
        """Return the window after a successful request."""
        more = 1 if self.size < SLOW_START_ENDS else 1 / self.size
        size = min(self.size + more, LARGEST_SIZE)
        return replace(self, size=size, failures=max(self.failures - 1, 0))

    def failed(self, sent: datetime, now: datetime, *, has_retry_policy: bool) -> PushWindow:
        """Return the window after the failure of a request that was sent at ``sent``."""
        if self.halved_at is not None and sent <= self.halved_at <= now:
            return self
        size = max(self.size / 2, 1)
        failures = min(self.failures + 1, _MOST_FAILURES)
        longest = LONGEST_PAUSE
        if has_retry_policy:
            longest = LONGEST_PAUSE_WITH_RETRY_POLICY if size == 1 else timedelta(0)
        pause = min(SHORTEST_PAUSE * 2 ** (failures - 1), longest)
        return PushWindow(size, failures, halved_at=now, paused_until=now + pause)

    def pause(self, now: datetime) -> timedelta:
        """Return how long from now the pause lasts; zero without a pause."""
        if self.paused_until is None:
            return timedelta(0)
        return max(self.paused_until - now, timedelta(0))
