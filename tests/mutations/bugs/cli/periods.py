"""Seeded bugs of ``cli/periods.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_cli_times.py",
    "tests/unit/test_cli_periods.py",
)

BUGS = (
    Bug(
        "weeks-are-days",
        "A period of weeks is one of days.",
        "days += weeks * 7 + ",
        "days += weeks + ",
    ),
    Bug(
        "weeks-without-a-p",
        "A period of weeks and days is refused where it is written without a P.",
        "[0-9.,]+[YWD])*",
        "[0-9.,]+[YD])*",
    ),
    Bug(
        "an-hour-of-an-hour-and-a-second",
        "A period of an hour is written in minutes.",
        "hours, rest = divmod(rest, 3_600)",
        "hours, rest = divmod(rest, 3_601)",
    ),
    Bug(
        "months-carry-at-thirteen",
        "Twelve months are written as months.",
        "years + months // 12, months % 12",
        "years + months // 13, months % 13",
    ),
)
