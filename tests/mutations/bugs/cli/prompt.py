"""The nearest tests of ``cli/prompt.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_shell.py",)

BUGS: tuple[Bug, ...] = ()
