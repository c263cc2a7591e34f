"""The timing of a server's exchanges with the store."""

from __future__ import annotations

from dataclasses import dataclass


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
