"""What is held under a lease, how long leases are, and until when they are extended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pubsub_delta.policy.positions import Positions
from pubsub_delta.server.assigner import Delivery

LEASE = timedelta(seconds=12)
"""How long a lease is at least, and is extended for when less than two thirds of it are left."""
LONGEST_LEASE = timedelta(seconds=90)
"""How long one is where commits are slow. So it is with exactly-once delivery, too: clients wait
for a new deadline that is longer than the lease, and ask for a minute."""

_TURNS_IN_A_LEASE = 8
_STEP = timedelta(seconds=10)
"""Deadlines are written in steps: one for each message would be more than an ack state holds."""


def length_of_leases(slowest_turn: timedelta, *, exactly_once: bool) -> timedelta:
    """Return how long leases are: they outlast several turns that take as long as the slowest.

    >>> length_of_leases(timedelta(seconds=0.1), exactly_once=False).total_seconds()
    12.0
    >>> length_of_leases(timedelta(seconds=4), exactly_once=False).total_seconds()
    32.0
    """
    if exactly_once:
        return LONGEST_LEASE
    return min(max(LEASE, slowest_turn * _TURNS_IN_A_LEASE), LONGEST_LEASE)


@dataclass
class Held:
    """What is left of a lease: messages that were read, and those that were not yet.

    ``until``: when it is over, where nobody was given a message for longer.
    """

    until: datetime
    unread: Positions
    read: dict[int, Delivery] = field(default_factory=dict)

    @property
    def positions(self) -> Positions:
        """Every message that is still held under the lease."""
        return self.unread | Positions.of(self.read)

    def is_due(self, now: datetime, length: timedelta) -> bool:
        """Tell whether the lease is to be extended."""
        return (self.until - now) * 3 < length * 2

    def deadlines(self, now: datetime, length: timedelta) -> dict[timedelta, Positions]:
        """Return for how long which messages are to be leased from now on.

        Those that a consumer has are leased until its deadline at least: nobody else is given them
        before, though this server may be gone by then.
        """
        by_end: dict[datetime | None, list[int]] = {}
        for position, delivery in self.read.items():  # there may be a hundred thousand of them
            by_end.setdefault(delivery.deadline, []).append(position)
        found: dict[timedelta, list[Positions]] = {length: [self.unread]}
        for end, positions in by_end.items():
            late = end is not None and end > now + length
            deadline = -((now - end) // _STEP) * _STEP if late and end is not None else length
            found.setdefault(deadline, []).append(Positions.of(positions))
        joined = {deadline: Positions.union(parts) for deadline, parts in found.items()}
        return {deadline: positions for deadline, positions in joined.items() if positions}
