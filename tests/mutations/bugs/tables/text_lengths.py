"""Seeded bugs of ``tables/text_lengths.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_table_texts.py",)

BUGS = (
    Bug(
        "texts-of-any-length",
        "A text that is longer than its VARCHAR(n) is written.",
        "len(value) <= most:",
        "len(value) <= most * 1000:",
    ),
)
