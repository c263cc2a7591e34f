"""The nearest tests of ``tables/lanes/direct/storage.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_lanes_choice.py",)

BUGS: tuple[Bug, ...] = ()
