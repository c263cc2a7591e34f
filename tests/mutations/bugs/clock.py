"""Seeded bugs of ``clock.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_fine_times.py",
    "tests/unit/test_clock.py",
    "tests/lanes/test_far_clocks.py",
)

BUGS = (
    Bug(
        "finer-time-is-cut",
        "A time between two microseconds is taken as the earlier one, and a seek as one to that.",
        "if until or nanos % 1000 == 0:",
        "if nanos:",
    ),
    Bug(
        "last-time-refused",
        "The last time of Protocol Buffers is refused.",
        "min(before, LAST_TIME - _MICROSECOND) + _MICROSECOND",
        "before + _MICROSECOND",
    ),
    Bug(
        "nanoseconds-of-a-datetime-ignored",
        "The nanoseconds of a datetime that has some are left out.",
        'getattr(value, "nanosecond", 0)',
        "0",
    ),
    Bug(
        "any-clock",
        "A clock of the year 1 or 9999 ends in an OverflowError.",
        "if not _CLOCK_FROM <= time < _CLOCK_UNTIL:",
        "if time is None:",
    ),
    Bug(
        "year-9999-of-a-clock",
        "A clock that tells the first moment of 9999 is accepted.",
        "if not _CLOCK_FROM <= time < _CLOCK_UNTIL:",
        "if not _CLOCK_FROM <= time <= _CLOCK_UNTIL:",
    ),
    Bug(
        "fractions-in-any-script",
        "The fraction of a second may be written in digits of any script.",
        "    re.ASCII,\n",
        "",
    ),
    Bug(
        "zones-of-sixty-minutes",
        "A time may be 60 minutes beyond an hour away from UTC.",
        r"[+-]\d\d:[0-5]\d)",
        r"[+-]\d\d:\d\d)",
    ),
    Bug(
        "a-zone-without-an-offset-is-guessed",
        "A time whose zone tells no offset is taken for one of this machine.",
        "if time.tzinfo is None or time.utcoffset() is None:",
        "if time.tzinfo is None:",
    ),
    Bug(
        "a-day-begins-within-a-second",
        "The first moment of a day keeps the microseconds of the time.",
        "replace(hour=0, minute=0, second=0, microsecond=0)",
        "replace(hour=0, minute=0, second=0)",
    ),
)
