"""Seeded bugs of ``cli/serve.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_command.py",
    "tests/unit/test_server_console.py",
)

BUGS = (
    Bug(
        "group-commit-of-a-day",
        "Requests wait for others to share their commit as long as anybody says.",
        '"group-commit", timedelta(0), _LONGEST_GATHER)',
        '"group-commit", timedelta(0), timedelta(days=9))',
    ),
)
