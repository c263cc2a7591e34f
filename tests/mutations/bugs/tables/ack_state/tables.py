"""Seeded bugs of ``tables/ack_state/tables.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_tables_in_memory.py",
    "tests/lanes/test_ack_states.py",
)

BUGS = (
    Bug(
        "swap-without-commit-id",
        "Whoever remembers a later state writes over one that was restored.",
        '[("revision", "=", "expected_revision"), ("commit_id", "=", "expected_commit_id")]',
        '[("revision", "=", "expected_revision")]',
    ),
    Bug(
        "the-newest-moment-comes-twice",
        "The metrics over time have the newest state of a subscription twice.",
        "spread(changes, most)[1:]",
        "spread(changes, most)",
    ),
)
