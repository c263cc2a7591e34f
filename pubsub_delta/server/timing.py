"""The timing of a server's exchanges with the store."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_PAUSE = 1.0
"""The longest pause after a failed exchange, in seconds."""


@dataclass(frozen=True)
class Timing:
    """The timing of exchanges with the store, in seconds.

    ``gather``: the least time between two, so that requests of several clients share one.
    ``shortest_poll``, ``longest_poll``: the time after an exchange without messages; it grows from
    one to the other while no message comes. ``confirm_acks``: whether responses to acks and new
    deadlines wait for the commit without exactly-once delivery, too, where Pub/Sub promises
    nothing.
    """

    gather: float = 0.02
    shortest_poll: float = 0.25
    longest_poll: float = 5.0
    confirm_acks: bool = False

    def pause(self, failures: int) -> float:
        """Return how long to wait after failures in a row: a storage can fail for hours.

        >>> [Timing().pause(failures) for failures in (1, 5, 100_000)]
        [0.02, 0.1, 1.0]
        """
        return min(failures * self.gather, LONGEST_PAUSE)
