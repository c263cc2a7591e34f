"""Seeded bugs of ``console/charts.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_ack_state_chart.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_chart_places.py",
)

BUGS = (
    Bug(
        "first-day-twice",
        "The chart of days counts its first day among the earlier ones, too.",
        "sum(n for day, n in by.items() if day < first)",
        "sum(n for day, n in by.items() if day <= first)",
    ),
    Bug(
        "a-month-has-a-day-more",
        "The chart of messages by day has 32 bars.",
        "timedelta(days=MOST_DAYS - 1)",
        "timedelta(days=MOST_DAYS)",
    ),
    Bug(
        "charts-in-seconds",
        "The charts of metrics begin in January 1970.",
        "times = tuple(to_micros(each.time) / 1000 for each in moments)",
        "times = tuple(to_micros(each.time) / 1_000_000 for each in moments)",
    ),
    Bug(
        "bars-until-today",
        "Messages of a clock that is ahead have no bar in the chart of days.",
        "last = max(today, max(by))",
        "last = today",
    ),
    Bug(
        "durations-as-numbers",
        "The figures of ages over time are told as bare numbers.",
        "texts = tuple(map(write, values))",
        "texts = tuple(map(formatting.count, values))",
    ),
    Bug(
        "counts-in-seconds",
        "The axis of a count of messages is written in seconds.",
        'unit = "seconds" if write is formatting.duration else ""',
        'unit = "seconds"',
    ),
)
