"""Seeded bugs of ``tables/lanes/direct/maintenance.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_upkeep.py",)

BUGS = (
    Bug(
        "deltalake-that-doubles-rows",
        "A deltalake by which two OPTIMIZE at a time double rows joins files.",
        "_release_of(deltalake.__version__) >= _DOUBLES_ROWS",
        "_release_of(deltalake.__version__) == _DOUBLES_ROWS",
    ),
)
