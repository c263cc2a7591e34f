"""What looks at a topic have found, so that the next look reads only what was published since.

Looks write nothing. Whoever writes an ack state reads the topic itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence

from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.tables.history import Commit

MOST_LOOKS = 16
"""Questions whose answers are kept, those that were asked last: each may hold large bitmaps."""


class Looks:
    """The messages that looks have found, for as long as they stand where they were published."""

    def __init__(self) -> None:
        self._found: dict[Hashable, dict[Commit, Absorbed | None]] = {}
        self._lock = threading.Lock()

    def added(
        self,
        question: Hashable,
        publishes: Sequence[Commit],
        find: Callable[[list[Commit]], Mapping[int, Absorbed] | None],
    ) -> list[Absorbed] | None:
        """Return what publishes have added.

        ``question``: names the topic and whatever else decides what is found. ``find``: finds what
        some of the publishes have added, by version, none where that is no message. None if it
        cannot tell.
        """
        with self._lock:
            known = dict(self._found.get(question, {}))
        new = [publish for publish in publishes if publish not in known]
        if new:
            found = find(new)
            if found is None:
                return None
            known.update({publish: found.get(publish.version) for publish in new})
        with self._lock:
            self._found.pop(question, None)
            self._found[question] = known
            for oldest in list(self._found)[: max(0, len(self._found) - MOST_LOOKS)]:
                del self._found[oldest]
        return [part for publish in publishes if (part := known[publish]) is not None]
