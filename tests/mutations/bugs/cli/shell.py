"""Seeded bugs of ``cli/shell.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_shell.py",)

BUGS = (
    Bug(
        "byte-order-mark-begins-a-command",
        "The first command of a file of Windows is not known.",
        "return line.removeprefix(BOM)",
        "return line",
    ),
)
