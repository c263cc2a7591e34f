"""The nearest tests of ``cli/progress.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_progress.py",)

BUGS: tuple[Bug, ...] = ()
