"""Seeded bugs of ``cli/topic_schemas.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_publish_schemas.py",)

BUGS = (
    Bug(
        "newest-revision-alone",
        "A line is held against the newest revision alone, and refused if it fits an earlier one.",
        "tuple(chosen))",
        "tuple(chosen[:1]))",
    ),
)
