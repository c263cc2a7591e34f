"""Seeded bugs of ``tables/lanes/protocol.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_tables_that_are_gone.py",)

BUGS = (
    Bug(
        "missing-table-is-no-damage",
        "A table of the store that is gone is an error that no user knows.",
        "class TableMissing(DataLoss):",
        "class TableMissing(Exception):",
    ),
)
