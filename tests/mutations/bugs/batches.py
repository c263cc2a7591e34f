"""Seeded bugs of ``batches.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_unreadable_messages.py",
    "tests/unit/test_batches.py",
    "tests/unit/test_reading_leases.py",
)

BUGS = (
    Bug(
        "arrow-of-an-ended-lease-is-damaged",
        "Who reads an Arrow table after the lease has ended is told of damage.",
        "        return self._lease.arrow(partial(self._check_held, self._lease))",
        "        return self._lease.arrow(lambda _: None)",
    ),
    Bug(
        "acked-though-set-aside",
        "An ack of the whole batch acknowledges what nobody could read.",
        "chosen = choose(self._lease) - self._lease.set_aside.positions",
        "chosen = choose(self._lease)",
    ),
)
