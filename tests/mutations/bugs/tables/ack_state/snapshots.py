"""Seeded bugs of ``tables/ack_state/snapshots.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_snapshot_calls.py",
    "tests/lanes/test_registry.py",
)

BUGS = (
    Bug(
        "dropped-snapshot-is-damaged",
        "A snapshot whose table has been dropped is told as damaged.",
        "if rows.num_rows == 0:",
        "if rows.num_rows < 0:",
    ),
)
