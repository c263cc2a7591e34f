"""The nearest tests of ``console/context.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_lists.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS: tuple[Bug, ...] = ()
