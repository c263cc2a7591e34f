"""The nearest tests of ``cli/panel.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_watch.py",)

BUGS: tuple[Bug, ...] = ()
