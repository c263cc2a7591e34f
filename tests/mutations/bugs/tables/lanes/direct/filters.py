"""Seeded bugs of ``tables/lanes/direct/filters.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_stored_attributes.py",
    "tests/lanes/test_scans.py",
)

BUGS = (
    Bug(
        "prefix-of-any-case",
        "The direct lane takes prefixes in any case.",
        "pattern=value))",
        "pattern=value, ignore_case=True))",
    ),
    Bug(
        "filtered-by-the-last-value",
        "Of an attribute that appears twice a filter takes the last value, and readers the first.",
        'which: str = "first"',
        'which: str = "last"',
    ),
)
