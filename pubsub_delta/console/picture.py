"""The picture of an ack state: publish time along one axis, states along the other.

It is measured out here, and drawn by ``templates/picture.html``. However many messages and spans
there are, a lane has few rectangles: spans that would touch are drawn as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from pubsub_delta.console import shown
from pubsub_delta.operations.survey import AckStateSurvey, SurveyedSpan

LEFT, RIGHT, TOP = 150, 12, 8
WIDTH = 960
LANE, GAP = 26, 10
LEAST = 4.0
"""A rectangle is at least so wide: ten messages are seen beside a thousand million."""
MOST_IN_A_LANE = 60
TICKS = 5

_LANES = (
    ("elsewhere", "Acknowledged"),
    ("retained", "Acked, kept to replay"),
    ("available", "Available"),
    ("leased", "Leased"),
    ("backing_off", "Backing off"),
    ("forwarding", "To dead letters"),
    ("purged", "Purged ahead"),
)
_LANE_OF = {"acked": "retained"}
_STEPS = tuple(
    timedelta(seconds=n)
    for n in (1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
)
_DENSEST = 9.0
"""10^9 messages in one rectangle are as dark as it gets."""


@dataclass(frozen=True)
class Block:
    """A rectangle: one or more spans whose publish times would touch in the picture.

    ``darkness``: 1 to 5, by the number of messages: how strong its colour is.
    """

    x: float
    width: float
    message_count: int
    darkness: int
    title: str


@dataclass(frozen=True)
class Lane:
    """A state, how many messages are in it, and where they were published in time."""

    state: str
    label: str
    y: float
    message_count: int | None
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Tick:
    """A time on the axis."""

    x: float
    label: str


@dataclass(frozen=True)
class Picture:
    """All that the drawing needs. ``now_x``: where the present is; ``words``: the same in words."""

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    now_x: float
    height: float
    words: str


class _Axis:
    """Publish time along the picture."""

    def __init__(self, first: datetime, last: datetime) -> None:
        self.first = first
        self.last = max(last, first + timedelta(seconds=1))

    def x(self, time: datetime) -> float:
        part = (min(max(time, self.first), self.last) - self.first) / (self.last - self.first)
        return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)

    def ticks(self) -> tuple[Tick, ...]:
        length = self.last - self.first
        step = next((each for each in _STEPS if length / each <= TICKS), None)
        if step is None:
            step = timedelta(days=math.ceil(length / timedelta(days=TICKS)))
        midnight = self.first.replace(hour=0, minute=0, second=0, microsecond=0)
        first = midnight + math.ceil((self.first - midnight) / step) * step
        form = "%m-%d" if step >= timedelta(days=1) else "%H:%M:%S" if length < _MINUTES else ""
        times = [first + n * step for n in range(TICKS + 1) if first + n * step <= self.last]
        return tuple(Tick(self.x(t), t.strftime(form or "%m-%d %H:%M")) for t in times)


_MINUTES = timedelta(minutes=15)


def drawn(survey: AckStateSurvey) -> Picture:
    """Return the picture of an ack state."""
    begins = [span.publish_time_min for span in survey.spans]
    known = [*begins, *([survey.stored_from] if survey.stored_from is not None else [])]
    ends = [survey.time, *(span.publish_time_max for span in survey.spans)]
    if survey.purged_until is not None:
        ends.append(_drawn_until(survey, min(known, default=survey.time)))
    axis = _Axis(min(known, default=survey.time - timedelta(hours=1)), max(ends))
    lanes: list[Lane] = []
    for state, label in _LANES:
        spans = [span for span in survey.spans if _LANE_OF.get(span.state, span.state) == state]
        lane = _lane(state, label, TOP + len(lanes) * (LANE + GAP), spans, survey, axis)
        if lane.blocks or state in ("elsewhere", "available", "leased"):
            lanes.append(lane)
    return Picture(
        lanes=tuple(lanes),
        ticks=axis.ticks(),
        now_x=axis.x(survey.time),
        height=TOP + len(lanes) * (LANE + GAP) + 24,
        words=_in_words(lanes),
    )


def _drawn_until(survey: AckStateSurvey, first: datetime) -> datetime:
    """Return how far a purge ahead is drawn: a tenth more than the past is, at most."""
    assert survey.purged_until is not None
    past = max(survey.time - first, timedelta(minutes=1))
    return min(survey.purged_until, survey.time + past / 10)


def _lane(
    state: str,
    label: str,
    y: float,
    spans: Sequence[SurveyedSpan],
    survey: AckStateSurvey,
    axis: _Axis,
) -> Lane:
    if state == "elsewhere":
        number, first = survey.elsewhere_count, survey.stored_from
        blocks = []
        if number and first is not None:
            title = (
                f"{shown.count(number)} messages that the topic stores are acknowledged, were "
                "left out by the filter, or are older than the subscription; the first stored one "
                f"was published at {shown.instant(first)}"
            )
            blocks = [_block(axis, first, survey.time, number, title)]
        return Lane(state, label, y, number, tuple(blocks))
    if state == "purged":
        until = survey.purged_until
        blocks = []
        if until is not None:
            title = f"What is published until {shown.instant(until)} is acknowledged as it comes"
            blocks = [_block(axis, survey.time, until, 1, title)]
        return Lane(state, label, y, None, tuple(blocks))
    number = sum(span.message_count for span in spans)
    return Lane(state, label, y, number, tuple(_blocks(axis, spans, label)))


def _blocks(axis: _Axis, spans: Iterable[SurveyedSpan], label: str) -> list[Block]:
    """Draw spans that would touch as one; where that leaves many, those that begin in a column."""
    ordered = sorted(spans, key=lambda span: (span.publish_time_min, span.publish_time_max))
    groups = _touching(axis, ordered)
    if len(groups) > MOST_IN_A_LANE:
        column = (WIDTH - LEFT - RIGHT) / (MOST_IN_A_LANE - 1)
        begun = groupby(ordered, lambda each: (axis.x(each.publish_time_min) - LEFT) // column)
        groups = [list(group) for _, group in begun]
    return [
        _block(
            axis,
            min(span.publish_time_min for span in group),
            max(span.publish_time_max for span in group),
            sum(span.message_count for span in group),
            _title(group, label),
        )
        for group in groups
    ]


def _touching(axis: _Axis, spans: Iterable[SurveyedSpan]) -> list[list[SurveyedSpan]]:
    """Return the groups of spans whose rectangles would touch; the spans come sorted by begin."""
    groups: list[list[SurveyedSpan]] = []
    end = 0.0
    for span in spans:
        left = axis.x(span.publish_time_min)
        right = max(axis.x(span.publish_time_max), left + LEAST)
        if groups and left <= end + 1:
            groups[-1].append(span)
            end = max(end, right)
        else:
            groups.append([span])
            end = right
    return groups


def _block(axis: _Axis, first: datetime, last: datetime, number: int, title: str) -> Block:
    left = axis.x(first)
    width = max(axis.x(last) - left, LEAST)
    left = min(left, WIDTH - RIGHT - width)
    darkness = 1 + min(4, int(4 * math.log10(max(number, 1)) / _DENSEST + 0.5))
    return Block(round(left, 1), round(width, 1), number, darkness, title)


def _title(spans: Sequence[SurveyedSpan], label: str) -> str:
    number = sum(span.message_count for span in spans)
    first = min(span.publish_time_min for span in spans)
    last = max(span.publish_time_max for span in spans)
    parts = [
        f"{label}: {shown.count(number)} {'message' if number == 1 else 'messages'} "
        f"in {len(spans)} {'span' if len(spans) == 1 else 'spans'}"
    ]
    if first == last:
        parts.append(f"published at {shown.instant(first)}")
    else:
        parts.append(f"published between {shown.instant(first)} and {shown.instant(last)}")
    attempts = [span.delivery_attempt for span in spans]
    if max(attempts) > 1:
        parts.append(f"delivery attempt {_range(min(attempts), max(attempts))}")
    ends = [span.until for span in spans if span.until is not None]
    if ends:
        parts.append(f"until {shown.instant(max(ends))}")
    return "; ".join(parts)


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _in_words(lanes: Iterable[Lane]) -> str:
    told = [
        f"{lane.label}: {shown.count(lane.message_count)}"
        for lane in lanes
        if lane.message_count is not None
    ]
    return "Messages by state. " + ", ".join(told) + "."
