"""Seeded bugs of ``cli/column_widths.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_terminal.py",)

BUGS = (
    Bug(
        "cells-are-cut-off",
        "A cell that does not fit the terminal loses its end.",
        "            part = part[end:]\n",
        '            part = ""\n',
    ),
)
