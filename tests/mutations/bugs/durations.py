"""Seeded bugs of ``durations.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_fine_times.py",
    "tests/unit/test_durations.py",
)

BUGS = (
    Bug(
        "duration-is-cut",
        "A duration between two microseconds is taken as the shorter one.",
        "timedelta(microseconds=ceil(seconds * _MICROSECONDS))",
        "timedelta(microseconds=int(seconds * _MICROSECONDS))",
    ),
)
