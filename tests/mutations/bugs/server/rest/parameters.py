"""Seeded bugs of ``server/rest/parameters.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_rest_transcoding.py",
    "tests/unit/test_rest_answers.py",
)

BUGS = (
    Bug(
        "query-into-a-text",
        "A query that leads into a mask, a time or a duration ends in INTERNAL.",
        "if within is None or is_written_as_text(within):",
        "if within is None:",
    ),
)
