"""Seeded bugs of ``cli/times.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_fine_times.py",
    "tests/unit/test_cli_times.py",
    "tests/unit/test_cli_periods.py",
)

BUGS = (
    Bug(
        "a-time-ago-is-longer-ago",
        "A time so long ago is taken as the microsecond before it.",
        "at + durations.exactly(sign * (period.seconds + rest * 86_400))",
        "at + sign * durations.exactly(period.seconds + rest * 86_400)",
    ),
    Bug(
        "a-date-is-midnight-in-utc",
        "A time without a zone is taken for one in UTC.",
        "return in_zone(found, zone) if found.tzinfo is None else found",
        "return found.replace(tzinfo=UTC) if found.tzinfo is None else found",
    ),
    Bug(
        "a-local-time-is-cut",
        "A local time that is finer than a microsecond is the one before it.",
        "found += timedelta(microseconds=1)",
        "found += timedelta(microseconds=0)",
    ),
    Bug(
        "a-day-is-24-hours",
        "A day ago is 24 hours ago on the day when clocks go forward, too.",
        "at = in_zone(wall, zone).astimezone(UTC) if on_calendar else now",
        "at = now + sign * timedelta(days=days) if on_calendar else now",
    ),
    Bug(
        "an-accident-is-a-time",
        "A seek to 10 goes to the tenth of this month.",
        "if _GUESSWORK.fullmatch(text):",
        "if not text:",
    ),
    Bug(
        "a-fraction-of-a-day-is-lost",
        "A time of days and a half ago is that of whole days ago.",
        "return at + durations.exactly(sign * (period.seconds + rest * 86_400))",
        "return at + durations.exactly(sign * period.seconds)",
    ),
    Bug(
        "today-in-utc",
        "A time of day in a zone is one of the day in UTC.",
        "midnight = in_zone(now, zone).replace(",
        "midnight = now.replace(",
    ),
    Bug(
        "months-are-durations",
        "A duration of months is taken as none.",
        "if not (found.years or found.months or found.negative):",
        "if not (found.years or found.negative):",
    ),
    Bug(
        "mountain-daylight-time-is-standard",
        "MDT is seven hours behind UTC.",
        '"MST": -7, "MDT": -6',
        '"MST": -7, "MDT": -7',
    ),
    Bug(
        "utc-in-small-letters-is-no-zone",
        "The time zone utc is unknown in small letters.",
        'if name.upper() in ("Z", "UTC", "GMT"):\n        return UTC',
        'if name in ("Z", "UTC", "GMT"):\n        return UTC',
    ),
)
