"""What was measured over time, and what of it is flat: after the first part, it must not grow."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

START = 1 / 3
"""The part of the time in which figures may still grow."""


@dataclass(frozen=True)
class Verdict:
    """A figure at the end of the first part and at the end, and whether that is flat."""

    name: str
    unit: str
    before: float
    after: float
    a_hour: float
    flat: bool


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return how much a figure grows in a unit of time: a line through the points.

    >>> slope([(0, 1), (1, 3), (2, 5)])
    2.0
    """
    middle = statistics.fmean(x for x, _ in points)
    level = statistics.fmean(y for _, y in points)
    over = sum((x - middle) ** 2 for x, _ in points)
    return sum((x - middle) * (y - level) for x, y in points) / over if over else 0.0


def after_the_start(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points after the first part of the time."""
    if not points:
        return []
    first, last = points[0][0], points[-1][0]
    return [point for point in points if point[0] >= first + START * (last - first)]


def judge(
    name: str, unit: str, points: Sequence[tuple[float, float]], share: float, least: float
) -> Verdict:
    """Tell whether a figure is flat: it grows by no more than a share of itself, or by little.

    ``points``: hours, and the figure. ``least``: growth that counts for nothing.
    """
    late = after_the_start(points)
    growth = slope(late)
    middle, hours = statistics.fmean(y for _, y in late), late[-1][0] - late[0][0]
    at = statistics.fmean(x for x, _ in late)
    before, after = (middle + growth * (x - at) for x in (late[0][0], late[-1][0]))
    flat = growth * hours <= max(share * max(before, 0.0), least)
    return Verdict(name, unit, before, after, growth, flat)


def percentiles(
    entries: Iterable[tuple[float, float]], window: float
) -> dict[str, list[tuple[float, float]]]:
    """Return the median and the 99th percentile of latencies in each window of time.

    ``entries``: seconds since the start, and milliseconds.
    """
    windows = defaultdict(list)
    for at, took in entries:
        windows[int(at // window)].append(took)
    found: Mapping[int, list[float]] = dict(sorted(windows.items()))
    return {
        name: [
            ((number + 0.5) * window / 3600, sorted(took)[min(len(took) - 1, int(q * len(took)))])
            for number, took in found.items()
        ]
        for name, q in (("p50", 0.5), ("p99", 0.99))
    }


def table(verdicts: Sequence[Verdict]) -> str:
    """Return verdicts as a table in Markdown."""
    lines = [
        "| figure | after the first third | at the end | an hour | flat |",
        "|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| {each.name} | {each.before:,.0f} {each.unit} | {each.after:,.0f} {each.unit} | "
        f"{each.a_hour:+,.0f} {each.unit} | {'yes' if each.flat else '**no**'} |"
        for each in verdicts
    ]
    return "\n".join(lines) + "\n"
