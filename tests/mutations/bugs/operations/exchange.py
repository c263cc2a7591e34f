"""Seeded bugs of ``operations/exchange.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_reading_leases.py",
    "tests/unit/test_successors.py",
    "tests/unit/test_consumer_calls.py",
)

BUGS = (
    Bug(
        "exchange-without-deadline",
        "The deadline that a consumer asks for is not passed to the lease.",
        "terms, self.clock(), deadline)",
        "terms, self.clock())",
    ),
    Bug(
        "channel-outlives-its-subscription",
        "What clients ask of a deleted subscription reaches the one that has its name.",
        "uid=self.uid,",
        "uid=self.tables.attached(self.name)[0].uid,",
    ),
    Bug(
        "a-streams-lease-over-before-it-is-given",
        "A StreamingPull whose request has waited for long has messages without a lease.",
        "terms, self.clock(), deadline)",
        "terms, now, deadline)",
    ),
)
