"""The nearest tests of ``tables/schemas.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_tables.py",
    "tests/lanes/test_table_ended.py",
)

BUGS: tuple[Bug, ...] = ()
