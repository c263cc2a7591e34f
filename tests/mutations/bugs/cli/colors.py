"""Seeded bugs of ``cli/colors.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_terminal.py",)

BUGS = (
    Bug(
        "colors-in-a-pipe",
        "A program that reads the output gets escape sequences.",
        "return bool(stream.isatty()) and not plain",
        "return not plain",
    ),
    Bug(
        "no-color-is-not-heard",
        "NO_COLOR does not turn colors off.",
        'environment.get("NO_COLOR") or ',
        "",
    ),
)
