"""The length of a server's leases, and when they are extended."""

from __future__ import annotations

from datetime import timedelta

LEASE = timedelta(seconds=12)
"""The shortest lease."""
LONGEST_LEASE = timedelta(seconds=90)
"""The length of a lease if commits are slow. With exactly-once delivery it is the least, too:
clients ask for a minute, and a new deadline beyond the lease takes a commit.
"""

_EXTENDED_AT = 2 / 3
_REQUESTS_IN_A_LEASE = 8
_BEYOND_DEADLINES = timedelta(seconds=30)
"""What a lease has beyond the deadlines of clients, with exactly-once delivery."""


def length_of_leases(
    slowest_request: timedelta,
    *,
    exactly_once: bool,
    longest_deadline: timedelta = timedelta(0),
) -> timedelta:
    """Return the length of leases: they outlast several requests as slow as the slowest one.

    With exactly-once delivery nobody else may have a message before its client's deadline, also if
    the server dies meanwhile. So a lease outlasts the longest deadline of its clients.

    >>> length_of_leases(timedelta(seconds=0.1), exactly_once=False).total_seconds()
    12.0
    >>> length_of_leases(timedelta(seconds=4), exactly_once=False).total_seconds()
    32.0
    >>> ten_minutes = timedelta(seconds=600)
    >>> length_of_leases(timedelta(0), exactly_once=True, longest_deadline=ten_minutes).seconds
    630
    """
    if exactly_once:
        beyond = max(_BEYOND_DEADLINES, 2 * slowest_request)
        return max(LONGEST_LEASE, longest_deadline + beyond)
    return min(max(LEASE, slowest_request * _REQUESTS_IN_A_LEASE), LONGEST_LEASE)


def extended_at(length: timedelta, longest_deadline: timedelta) -> float:
    """Return the part of a lease that is left when it is extended.

    ``longest_deadline``: of the clients with exactly-once delivery. The lease is extended when half
    of what it has beyond that is over, so that clients need not wait for the extension.

    >>> round(extended_at(timedelta(seconds=630), timedelta(seconds=600)) * 630)
    615
    """
    return max(_EXTENDED_AT, (length + longest_deadline) / 2 / length)
