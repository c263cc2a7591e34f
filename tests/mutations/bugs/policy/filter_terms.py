"""Seeded bugs of ``policy/filter_terms.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_filters.py",
    "tests/unit/test_fuzz_filters.py",
)

BUGS = (
    Bug(
        "line-feeds-are-not-blank",
        "A filter of a line feed is a syntax error.",
        'BLANKS = " \\t\\r\\n"',
        'BLANKS = " \\t"',
    ),
)
