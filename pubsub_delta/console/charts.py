"""Charts for Chart.js in the browser: values, labels and tooltips."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Literal

from pubsub_delta.clock import to_micros
from pubsub_delta.console import formatting
from pubsub_delta.operations.survey import DayCount, SubscriptionMoment

MOST_DAYS = 31


@dataclass(frozen=True)
class Chart:
    """One series of values.

    ``kind``: ``bars``, or ``steps`` where a value holds until the next one. ``x``: the labels of
    bars, or the times of steps. ``y``: the values; None has no bar. ``tooltips``: a text for each.
    ``unit``: ``seconds``, where they are.
    """

    kind: Literal["bars", "steps"]
    x: tuple[str, ...] | tuple[float, ...]
    y: tuple[float | None, ...]
    tooltips: tuple[str, ...]
    unit: str = ""

    @property
    def data(self) -> str:
        """The chart as JSON, which ``static/charts.js`` reads."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class DailyCounts:
    """Messages by day. ``earlier``: the number of messages of days before the first."""

    counts: tuple[DayCount, ...]
    earlier: int

    @property
    def chart(self) -> Chart:
        """A bar for each day that has messages."""
        return Chart(
            "bars",
            tuple(each.day.strftime("%m-%d") for each in self.counts),
            tuple(each.message_count or None for each in self.counts),
            tuple(f"{c.day}: {formatting.count(c.message_count)} messages" for c in self.counts),
        )


def daily_counts(counts: Sequence[DayCount], today: date) -> DailyCounts:
    """Return each day from the first with messages to today, at most the last 31."""
    by = {each.day: each.message_count for each in counts}
    if not by:
        return DailyCounts((), 0)
    last = max(today, max(by))
    first = max(min(by), last - timedelta(days=MOST_DAYS - 1))
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    complete = tuple(DayCount(day, by.get(day, 0)) for day in days)
    return DailyCounts(complete, sum(n for day, n in by.items() if day < first))


@dataclass(frozen=True)
class TimeSeries:
    """A metric over time, with its value at each moment as text."""

    label: str
    chart: Chart
    texts: tuple[str, ...]
    largest: str

    @property
    def last(self) -> str:
        """The value at the last moment."""
        return self.texts[-1]


_SERIES: tuple[tuple[str, Callable[[SubscriptionMoment], float], Callable[[float], str]], ...] = (
    ("Unacknowledged", lambda each: each.num_undelivered_messages, formatting.count),
    ("Outstanding", lambda each: each.num_outstanding_messages, formatting.count),
    ("Oldest unacknowledged", lambda each: each.oldest_unacked_message_age, formatting.duration),
    ("Highest delivery attempt", lambda each: each.delivery_attempt, formatting.count),
    ("Acknowledged, ever", lambda each: each.acknowledged_count, formatting.count),
    ("Dead-lettered, ever", lambda each: each.dead_letter_message_count, formatting.count),
)


def time_series(moments: Sequence[SubscriptionMoment]) -> list[TimeSeries]:
    """Return each metric over time; nothing without moments."""
    if not moments:
        return []
    times = tuple(to_micros(each.time) / 1000 for each in moments)
    found = []
    for label, value_of, write in _SERIES:
        values = tuple(map(value_of, moments))
        texts = tuple(map(write, values))
        pairs = zip(texts, moments, strict=True)
        tooltips = tuple(f"{text} at {formatting.timestamp(each.time)}" for text, each in pairs)
        unit = "seconds" if write is formatting.duration else ""
        chart = Chart("steps", times, values, tooltips, unit)
        found.append(TimeSeries(label, chart, texts, write(max(values))))
    return found
