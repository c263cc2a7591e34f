"""Lines of a figure over time, measured out for an SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pubsub_delta.console import shown
from pubsub_delta.operations.survey import SubscriptionMoment

WIDTH, HEIGHT = 300, 70
_FIGURES: tuple[tuple[str, Callable[[SubscriptionMoment], float], Callable[[float], str]], ...] = (
    ("Unacknowledged", lambda each: each.num_undelivered_messages, shown.count),
    ("Outstanding", lambda each: each.num_outstanding_messages, shown.count),
    ("Oldest unacknowledged", lambda each: each.oldest_unacked_message_age, shown.span),
    ("Highest delivery attempt", lambda each: each.delivery_attempt, shown.count),
    ("Acknowledged, ever", lambda each: each.acknowledged_count, shown.count),
    ("Dead-lettered, ever", lambda each: each.dead_letter_message_count, shown.count),
)


@dataclass(frozen=True)
class Point:
    """A value, and where it stands."""

    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Line:
    """A figure over time: its steps as an SVG path, and each of its values."""

    label: str
    path: str
    points: tuple[Point, ...]
    largest: str
    last: str


def drawn(moments: Sequence[SubscriptionMoment]) -> list[Line]:
    """Return a line for each figure. A value holds until the next one."""
    if not moments:
        return []
    first = min(each.time for each in moments)
    length = (max(each.time for each in moments) - first).total_seconds() or 1.0

    def x(time: datetime) -> float:
        return round(WIDTH * (time - first).total_seconds() / length, 1)

    return [
        _line(label, [(x(each.time), value(each), each.time) for each in moments], write)
        for label, value, write in _FIGURES
    ]


def _line(
    label: str, values: Sequence[tuple[float, float, datetime]], write: Callable[[float], str]
) -> Line:
    largest = max(value for _, value, _ in values)
    points = [
        Point(
            place,
            round(HEIGHT * (1 - value / largest), 1) if largest else float(HEIGHT),
            f"{write(value)} at {shown.instant(time)}",
        )
        for place, value, time in values
    ]
    steps = [f"M{points[0].x} {points[0].y}"]
    steps += [f"H{point.x}V{point.y}" for point in points[1:]]
    return Line(label, "".join(steps), tuple(points), write(largest), write(values[-1][1]))
