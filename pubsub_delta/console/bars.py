"""Bars of messages by day, measured out for an SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from pubsub_delta.operations.survey import DayCount

WIDTH, HEIGHT = 640, 160
MOST_DAYS = 31
_GAP = 0.2
_LEAST = 2.0
"""A day with few messages among days with many is still seen."""


@dataclass(frozen=True)
class Bar:
    """The messages of a day, and where its bar stands."""

    day: date
    message_count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Bars:
    """Bars of some days, one after the other. ``earlier``: messages of days before the first."""

    bars: tuple[Bar, ...]
    largest: int
    earlier: int


def by_day(counts: Sequence[DayCount], today: date) -> Bars:
    """Return a bar for each day from the first with messages to today, at most the last 31."""
    by = {each.day: each.message_count for each in counts}
    if not by:
        return Bars((), 0, 0)
    last = max(today, max(by))
    first = max(min(by), last - timedelta(days=MOST_DAYS - 1))
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    largest = max(by.get(day, 0) for day in days)
    step = WIDTH / max(7, len(days))
    bars = []
    for place, day in enumerate(days):
        number = by.get(day, 0)
        height = max(_LEAST, HEIGHT * number / largest) if number else 0.0
        left = (place + _GAP / 2) * step
        bars.append(Bar(day, number, left, HEIGHT - height, step * (1 - _GAP), height))
    return Bars(tuple(bars), largest, sum(n for day, n in by.items() if day < first))
