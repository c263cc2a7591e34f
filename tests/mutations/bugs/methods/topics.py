"""The nearest tests of ``methods/topics.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_paging.py",
    "tests/unit/test_lost_registry.py",
)

BUGS: tuple[Bug, ...] = ()
