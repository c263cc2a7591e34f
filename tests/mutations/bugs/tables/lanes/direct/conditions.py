"""Seeded bugs of ``tables/lanes/direct/conditions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_direct.py",
    "tests/lanes/test_scans.py",
)

BUGS = (
    Bug(
        "files-without-statistics",
        "A file without statistics is left out of a look.",
        "pa.scalar(value, values.type)), True)",
        "pa.scalar(value, values.type)), False)",
    ),
)
