"""Seeded bugs of ``cli/periods.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_cli_times.py",
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
)
