"""The nearest tests of ``names.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_names.py",
    "tests/unit/test_fuzz_names.py",
)

BUGS: tuple[Bug, ...] = ()
