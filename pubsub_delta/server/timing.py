"""How often a server commits what clients ask of a subscription."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """How often there is an exchange with the store: seconds.

    ``gather``: from one to the next at least, so that requests of several clients share it.
    ``shortest_poll``, ``longest_poll``: from one poll without messages to the next; it grows from
    the one to the other while nothing comes.
    ``confirm_acks``: acknowledgements and new deadlines are answered when they are written, also
    without exactly-once delivery, where Pub/Sub promises nothing by its answer.
    """

    gather: float = 0.02
    shortest_poll: float = 0.25
    longest_poll: float = 5.0
    confirm_acks: bool = False
