"""The chart of an ack state: messages along one axis, states along the other.

The axis is publish time, or the order of receipt. Places on it are percentages of its length;
``templates/ack_state_chart.html`` draws them. Blocks that would overlap are drawn as one, so a lane
has few of them however many messages there are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate, groupby
from typing import Literal, Protocol

from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.console import formatting
from pubsub_delta.delivery.surveys import AckStateSurvey, SurveyedSpan
from pubsub_delta.errors import counted

MIN_WIDTH = 0.6
"""The smallest width of a block, so that ten messages are visible beside 10^9."""
MAX_BLOCKS = 60
TICKS = 5
BESIDE_NOW = 16
"""Percent: the label of a tick that is closer to the present would be written over "now"."""

_LANES = (
    ("available", "Available"),
    ("leased", "Leased"),
    ("backing_off", "Backing off"),
    ("forwarding", "To dead letters"),
    ("writing", "To its table"),
    ("retained", "Acked, kept to replay"),
    ("acknowledged", "Acknowledged"),
    ("expired", "Older than it keeps"),
    ("before", "Before the subscription"),
    ("purged", "Purged ahead"),
)
_ALWAYS = ("available", "leased", "acknowledged")
_FILTERED = "Acked, or filtered out"
_LANE_OF = {"acked": "retained"}
_STEPS = tuple(
    timedelta(seconds=n)
    for n in (1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
)
_DENSEST = 9.0
"""The decimal logarithm of the number of messages of the tallest block."""
_MINUTES = timedelta(minutes=15)
_DIGITS = 17
"""Of a bound: in microseconds until the year 5138."""


@dataclass(frozen=True)
class ChartView:
    """The axis of a chart, and the part of it that is shown.

    ``by``: publish time, or the order of receipt. ``start``, ``end``: the bounds, in microseconds
    since 1970, or as numbers of stored messages from the first; None for all.
    """

    by: Literal["time", "position"] = "time"
    start: int | None = None
    end: int | None = None

    @property
    def is_part(self) -> bool:
        """Whether a part of the axis is shown."""
        return self.start is not None


def chart_view(asked: Mapping[str, str]) -> ChartView:
    """Return the view that a request asks for; all of the axis if that is not valid.

    >>> chart_view({"by": "position", "start": "10", "end": "20"})
    ChartView(by='position', start=10, end=20)
    """
    by: Literal["time", "position"] = "position" if asked.get("by") == "position" else "time"
    bounds = [asked.get(name, "") for name in ("start", "end")]
    if not all(text.isdecimal() and text.isascii() and len(text) <= _DIGITS for text in bounds):
        return ChartView(by)
    start, end = map(int, bounds)
    return ChartView(by, start, end) if start < end else ChartView(by)


@dataclass(frozen=True)
class Block:
    """A rectangle for one span, or for several that would overlap.

    ``height``: 1 to 5, by the number of messages.
    """

    x: float
    width: float
    message_count: int
    height: int
    title: str


@dataclass(frozen=True)
class Lane:
    """A delivery state, the number of its messages, and their blocks."""

    state: str
    label: str
    message_count: int | None
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Tick:
    """A tick of the axis.

    ``label``: empty where "now" stands. ``anchor``: the end of the label that is aligned with it.
    """

    x: float
    label: str
    anchor: str


@dataclass(frozen=True)
class AckStateChart:
    """A chart, as its template draws it.

    ``start``, ``end``: what the axis begins and ends with, as in ``ChartView``. ``now_x``:
    the place of the present, None if it is outside. ``summary``: the number of messages by state,
    for screen readers.
    """

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    start: int
    end: int
    now_x: float | None
    summary: str


class _Axis(Protocol):
    """An axis: its places are percentages of the part that is shown, and may lie outside of it."""

    start: int
    end: int

    def pieces(self, span: SurveyedSpan) -> list[tuple[float, float]]:
        """Return the intervals that the messages of a span take."""

    def ticks(self) -> tuple[Tick, ...]:
        """Return up to ``TICKS`` + 1 ticks at round values."""


class _Times:
    """The axis of publish time."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = max(end, start + 1_000_000)

    def x(self, time: datetime) -> float:
        return 100 * (to_micros(time) - self.start) / (self.end - self.start)

    def pieces(self, span: SurveyedSpan) -> list[tuple[float, float]]:
        return [(self.x(span.publish_time_min), self.x(span.publish_time_max))]

    def ticks(self) -> tuple[Tick, ...]:
        start, end = from_micros(self.start), from_micros(self.end)
        length = end - start
        step = next((each for each in _STEPS if length / each <= TICKS), None)
        if step is None:
            step = timedelta(days=math.ceil(length / timedelta(days=TICKS)))
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
        first = midnight + math.ceil((start - midnight) / step) * step
        form = "%m-%d" if step >= timedelta(days=1) else "%H:%M:%S" if length < _MINUTES else ""
        times = [first + n * step for n in range(TICKS + 1) if first + n * step <= end]
        return tuple(_tick(self.x(t), t.strftime(form or "%m-%d %H:%M")) for t in times)


class _Positions:
    """The axis of stored messages in the order of receipt, without gaps."""

    def __init__(self, runs: Sequence[tuple[int, int]], start: int | None, end: int | None) -> None:
        self._firsts = [first for first, _ in runs]
        lengths = [last - first + 1 for first, last in runs]
        self._before = [0, *accumulate(lengths)]
        self.start = 0 if start is None else start
        self.end = max(self._before[-1] if end is None else end, self.start + 1)

    def x(self, position: int) -> float:
        place = max(0, bisect_right(self._firsts, position) - 1)
        if not self._firsts:
            return 0.0
        number = min(self._before[place] + position - self._firsts[place], self._before[place + 1])
        return 100 * (number - self.start) / (self.end - self.start)

    def pieces(self, span: SurveyedSpan) -> list[tuple[float, float]]:
        return [(self.x(first), self.x(last + 1)) for first, last in span.runs]

    def ticks(self) -> tuple[Tick, ...]:
        raw = (self.end - self.start) / TICKS
        unit = 10 ** max(0, math.floor(math.log10(max(raw, 1))))
        step = next(n * unit for n in (1, 2, 5, 10) if n * unit >= raw)
        first = -(-self.start // step) * step
        numbers = range(first, self.end + 1, step)
        scale = 100 / (self.end - self.start)
        return tuple(_tick((n - self.start) * scale, formatting.count(n)) for n in numbers)


def _tick(x: float, label: str) -> Tick:
    return Tick(round(x, 2), label, "start" if x < 8 else "end" if x > 92 else "middle")


def draw_change(
    before: AckStateSurvey, after: AckStateSurvey
) -> tuple[AckStateChart, AckStateChart]:
    """Return the charts before and after a change, with the same axis and lanes."""
    axes = [_axis(each, ChartView()) for each in (before, after)]
    ends = min(axis.start for axis in axes), max(axis.end for axis in axes)
    view = ChartView("time", *ends)
    states = {lane.state for each in (before, after) for lane in draw(each, view).lanes}
    return draw(before, view, states), draw(after, view, states)


def draw(
    survey: AckStateSurvey, view: ChartView | None = None, states: Collection[str] = _ALWAYS
) -> AckStateChart:
    """Return the chart of an ack state; ``states``: those that have a lane even if empty."""
    view = ChartView() if view is None else view
    axis = _axis(survey, view)
    every = [*survey.spans, *survey.others]
    lanes = []
    for state, label in _LANES:
        if state == "acknowledged" and survey.is_filtered:
            label = _FILTERED
        spans = [span for span in every if _LANE_OF.get(span.state, span.state) == state]
        lane = _lane(state, label, spans, survey, axis)
        if lane.blocks or lane.message_count or state in states:
            lanes.append(lane)
    now_x = axis.x(survey.time) if isinstance(axis, _Times) else None
    if now_x is not None and not 0 <= now_x <= 100:
        now_x = None
    ticks = axis.ticks()
    if now_x is not None:
        ticks = tuple(
            replace(tick, label="") if abs(tick.x - now_x) < BESIDE_NOW else tick for tick in ticks
        )
    return AckStateChart(
        lanes=tuple(lanes),
        ticks=ticks,
        start=axis.start,
        end=axis.end,
        now_x=None if now_x is None else round(now_x, 2),
        summary=_summary(lanes),
    )


def _axis(survey: AckStateSurvey, view: ChartView) -> _Axis:
    if view.by == "position":
        return _Positions(survey.stored_runs, view.start, view.end)
    if view.start is not None and view.end is not None:
        return _Times(view.start, view.end)
    begins = [span.publish_time_min for span in survey.spans]
    known = [*begins, *([survey.stored_from] if survey.stored_from is not None else [])]
    first = min(known, default=survey.time - timedelta(hours=1))
    ends = [survey.time, *(span.publish_time_max for span in survey.spans)]
    if survey.purged_until is not None:
        ends.append(_drawn_until(survey, first))
    return _Times(to_micros(first), to_micros(max(ends)))


def _drawn_until(survey: AckStateSurvey, first: datetime) -> datetime:
    """Return the end of a purge of the future on the chart: at most a tenth of the past."""
    assert survey.purged_until is not None
    past = max(survey.time - first, timedelta(minutes=1))
    return min(survey.purged_until, survey.time + past / 10)


def _lane(
    state: str, label: str, spans: Sequence[SurveyedSpan], survey: AckStateSurvey, axis: _Axis
) -> Lane:
    if state == "purged":
        until = survey.purged_until
        blocks = []
        if until is not None and isinstance(axis, _Times):
            title = (
                f"What is published until {formatting.timestamp(until)} is acknowledged as it comes"
            )
            blocks = _clipped([_block(axis.x(survey.time), axis.x(until), 1, title)])
        return Lane(state, label, None, tuple(blocks))
    number = sum(span.message_count for span in spans)
    return Lane(state, label, number, tuple(_blocks(axis, spans, label)))


@dataclass(frozen=True)
class _Piece:
    first: float
    last: float
    span: SurveyedSpan


def _blocks(axis: _Axis, spans: Iterable[SurveyedSpan], label: str) -> list[Block]:
    """Return a block for each group of overlapping pieces; if there are many, for each column."""
    pieces = [
        _Piece(first, last, span)
        for span in spans
        for first, last in axis.pieces(span)
        if first <= 100 and last >= 0
    ]
    pieces.sort(key=lambda piece: (piece.first, piece.last))
    groups = _overlapping(pieces)
    if len(groups) > MAX_BLOCKS:
        column = 100 / (MAX_BLOCKS - 2)
        begun = groupby(pieces, lambda piece: max(0.0, piece.first) // column)
        groups = [list(group) for _, group in begun]
    blocks = []
    for group in groups:
        held = list({id(piece.span): piece.span for piece in group}.values())
        number = sum(span.message_count for span in held)
        last = max(piece.last for piece in group)
        blocks.append(_block(group[0].first, last, number, _title(held, label)))
    return _clipped(blocks)


def _overlapping(pieces: Iterable[_Piece]) -> list[list[_Piece]]:
    """Return the groups of pieces whose blocks would overlap; pieces are sorted."""
    groups: list[list[_Piece]] = []
    end = 0.0
    for piece in pieces:
        last = max(piece.last, piece.first + MIN_WIDTH)
        if groups and piece.first <= end + MIN_WIDTH / 4:
            groups[-1].append(piece)
            end = max(end, last)
        else:
            groups.append([piece])
            end = last
    return groups


def _block(first: float, last: float, number: int, title: str) -> Block:
    height = 1 + min(4, int(4 * math.log10(max(number, 1)) / _DENSEST + 0.5))
    return Block(first, max(last - first, MIN_WIDTH), number, height, title)


def _clipped(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks clipped to the axis; none is narrower than ``MIN_WIDTH``."""
    found = []
    for each in blocks:
        last = min(each.x + each.width, 100.0)
        first = min(max(each.x, 0.0), 100 - MIN_WIDTH)
        width = round(max(last - first, MIN_WIDTH), 2)
        found.append(Block(round(first, 2), width, each.message_count, each.height, each.title))
    return found


def _title(spans: Sequence[SurveyedSpan], label: str) -> str:
    number = sum(span.message_count for span in spans)
    first = min(span.publish_time_min for span in spans)
    last = max(span.publish_time_max for span in spans)
    parts = [f"{label}: {counted(number, 'message')}"]
    if first == last:
        parts.append(f"published at {formatting.timestamp(first)}")
    else:
        parts.append(
            f"published between {formatting.timestamp(first)} and {formatting.timestamp(last)}"
        )
    attempts = [span.delivery_attempt for span in spans]
    if max(attempts) > 1:
        parts.append(f"delivery attempt {_range(min(attempts), max(attempts))}")
    ends = [span.until for span in spans if span.until is not None]
    if ends:
        parts.append(f"until {formatting.timestamp(max(ends))}")
    return "; ".join(parts)


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _summary(lanes: Iterable[Lane]) -> str:
    sentences = [
        f"{lane.label}: {formatting.count(lane.message_count)}"
        for lane in lanes
        if lane.message_count is not None
    ]
    return "Messages by state. " + ", ".join(sentences) + "."
