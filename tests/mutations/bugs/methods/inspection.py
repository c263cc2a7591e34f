"""The nearest tests of ``methods/inspection.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_find.py",
    "tests/unit/test_wrong_arguments.py",
)

BUGS: tuple[Bug, ...] = ()
