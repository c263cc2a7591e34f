"""Charts: the values that Chart.js draws in the browser, and what is told of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from pubsub_delta.clock import to_micros
from pubsub_delta.console import shown
from pubsub_delta.operations.survey import DayCount, SubscriptionMoment

MOST_DAYS = 31


@dataclass(frozen=True)
class Chart:
    """One series of values.

    ``kind``: ``bars``, or ``steps`` where a value holds until the next one. ``x``: the labels of
    bars, or the places of steps. ``y``: the values; None has no bar. ``told``: a text for each.
    ``unit``: ``seconds``, where they are.
    """

    kind: Literal["bars", "steps"]
    x: tuple[str, ...] | tuple[float, ...]
    y: tuple[float | None, ...]
    told: tuple[str, ...]
    unit: str = ""

    @property
    def data(self) -> str:
        """What ``static/console.js`` reads, as JSON."""
        return json.dumps(
            {"kind": self.kind, "x": self.x, "y": self.y, "told": self.told, "unit": self.unit}
        )


@dataclass(frozen=True)
class Days:
    """Messages by day, one after the other. ``earlier``: those of days before the first."""

    counts: tuple[DayCount, ...]
    earlier: int

    @property
    def chart(self) -> Chart:
        """A bar for each day that has messages."""
        return Chart(
            "bars",
            tuple(each.day.strftime("%m-%d") for each in self.counts),
            tuple(each.message_count or None for each in self.counts),
            tuple(f"{c.day}: {shown.count(c.message_count)} messages" for c in self.counts),
        )


def by_day(counts: Sequence[DayCount], today: date) -> Days:
    """Return each day from the first with messages to today, at most the last 31."""
    by = {each.day: each.message_count for each in counts}
    if not by:
        return Days((), 0)
    last = max(today, max(by))
    first = max(min(by), last - timedelta(days=MOST_DAYS - 1))
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    told = tuple(DayCount(day, by.get(day, 0)) for day in days)
    return Days(told, sum(n for day, n in by.items() if day < first))


@dataclass(frozen=True)
class Figure:
    """A figure over time: what each moment tells of it, written out."""

    label: str
    chart: Chart
    written: tuple[str, ...]
    largest: str

    @property
    def last(self) -> str:
        """What the last moment tells."""
        return self.written[-1]


_FIGURES: tuple[tuple[str, Callable[[SubscriptionMoment], float], Callable[[float], str]], ...] = (
    ("Unacknowledged", lambda each: each.num_undelivered_messages, shown.count),
    ("Outstanding", lambda each: each.num_outstanding_messages, shown.count),
    ("Oldest unacknowledged", lambda each: each.oldest_unacked_message_age, shown.span),
    ("Highest delivery attempt", lambda each: each.delivery_attempt, shown.count),
    ("Acknowledged, ever", lambda each: each.acknowledged_count, shown.count),
    ("Dead-lettered, ever", lambda each: each.dead_letter_message_count, shown.count),
)


def over_time(moments: Sequence[SubscriptionMoment]) -> list[Figure]:
    """Return each figure over time; none without a moment."""
    if not moments:
        return []
    places = tuple(to_micros(each.time) / 1000 for each in moments)
    found = []
    for label, value_of, write in _FIGURES:
        values = tuple(map(value_of, moments))
        written = tuple(map(write, values))
        pairs = zip(written, moments, strict=True)
        told = tuple(f"{text} at {shown.instant(each.time)}" for text, each in pairs)
        unit = "seconds" if write is shown.span else ""
        chart = Chart("steps", places, values, told, unit)
        found.append(Figure(label, chart, written, write(max(values))))
    return found
