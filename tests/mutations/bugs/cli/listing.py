"""Seeded bugs of ``cli/listing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "filter-sees-the-first-pages-only",
        "With a limit a filter sees no more than so many.",
        "most = None if app.selection.needs_all else limit",
        "most = limit",
    ),
)
