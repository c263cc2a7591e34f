"""Seeded bugs of ``tables/lanes/direct/merging.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_looks.py",
    "tests/lanes/test_added_columns.py",
    "tests/lanes/test_direct.py",
)

BUGS = (
    Bug(
        "null-is-equal-to-null",
        "A row without a value is taken for the one that is looked for without one.",
        "None not in (each, value) and compare(each, value)",
        "each == value or (None not in (each, value) and compare(each, value))",
    ),
    Bug(
        "column-of-others-stops-creating",
        "No topic can be created after another program gave the registry a column.",
        "completed(new, old.schema)",
        "new.select(old.column_names).cast(old.schema)",
    ),
    Bug(
        "deletions-of-a-query",
        "In a registry of many rows a deletion is told as none.",
        'for what in ("updated", "inserted", "deleted")',
        'for what in ("updated", "inserted")',
    ),
)
