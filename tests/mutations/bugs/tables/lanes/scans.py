"""Seeded bugs of ``tables/lanes/scans.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_scans.py",
    "tests/unit/test_tables_in_memory.py",
)

BUGS = (
    Bug(
        "last-day-of-a-window-left-out",
        "A filter leaves out what was published on the last day of what is looked through.",
        "end_of_day(self.latest)",
        "start_of_day(self.latest)",
    ),
)
