"""Seeded bugs of ``console/formatting.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_values.py",
    "tests/unit/test_console_ack_state_chart.py",
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_chart_places.py",
)

BUGS = (
    Bug(
        "half-a-pair-on-a-page",
        "The page of a message whose JSON has half of a surrogate pair is an internal error.",
        '("Cc", "Cs", "Cn", "Co", "Zl", "Zp")',
        '("Cc", "Cn", "Co", "Zl", "Zp")',
    ),
    Bug(
        "private-characters-shown",
        "Characters that no font has are written as they are.",
        '("Cc", "Cs", "Cn", "Co", "Zl", "Zp")',
        '("Cc", "Cs", "Zl", "Zp")',
    ),
)
