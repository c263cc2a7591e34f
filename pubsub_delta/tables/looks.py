"""What looks at a topic have found, so that the next look reads only what was published since.

Looks write nothing. Whoever writes an ack state reads the topic itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence

from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.tables.history import Commit

MOST_LOOKS = 16
"""Looks whose findings are kept, those of the last ones: each may hold large bitmaps."""


class Looks:
    """The messages that looks have found, for as long as they stand where they were published."""

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[int, list[Absorbed]]] = {}
        self._lock = threading.Lock()

    def added(
        self,
        question: Hashable,
        after_version: int,
        commits: Sequence[Commit],
        absorb: Callable[[int, list[Commit]], list[Absorbed]],
    ) -> list[Absorbed]:
        """Return what commits have added, all those after a version and the newest first.

        ``question``: names the topic and whatever else decides what is found, besides the commits.
        ``absorb``: finds what some of the commits have added, those after a version.
        """
        with self._lock:
            until, found = self._found.get(question, (after_version, []))
        if until > commits[0].version:
            until, found = after_version, []
        new = [commit for commit in commits if commit.version > until]
        if new:
            found = [*found, *absorb(until, new)]
        with self._lock:
            self._found.pop(question, None)
            self._found[question] = (commits[0].version, found)
            for oldest in list(self._found)[: max(0, len(self._found) - MOST_LOOKS)]:
                del self._found[oldest]
        return list(found)
