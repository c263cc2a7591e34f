"""Surveys: a subscription's spans, and its topic's messages outside of them, for display.

A survey writes nothing, and reads no topic whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pubsub_delta.delivery.sources import Source
from pubsub_delta.policy.ack_state import ACKNOWLEDGED, AckState, Span, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.protocol import DataFile

MOST_RUNS = 60
"""The largest number of runs that describe a span; the last one includes the rest."""

BEFORE, EXPIRED, ACKNOWLEDGED_ONES = "before", "expired", "acknowledged"
"""States of messages outside of spans: older than the subscription, older than its retention, or
acknowledged (or not passing its filter).
"""


@dataclass(frozen=True)
class SurveyedSpan:
    """Messages of a subscription that share a state, and their earliest and latest publish time.

    ``state``: available, leased, backing_off, forwarding or writing; or acked or retained, which
    are acknowledged and kept because a seek may restore them. Among ``AckStateSurvey.others``:
    before, expired or acknowledged. ``until``: the end of lease or backoff. ``runs``: the first and
    last positions of runs of them, in order; the last run can contain other messages, too.
    """

    state: str
    message_count: int
    publish_time_min: datetime
    publish_time_max: datetime
    delivery_attempt: int
    until: datetime | None
    runs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class AckStateSurvey:
    """The states of a topic's messages for a subscription at ``time``.

    ``spans``: of all messages that are not simply acknowledged; ``others``: of the stored messages
    that are in no span. ``stored_count`` messages are stored in the topic, the first of them
    published at ``stored_from``, at the positions of ``stored_runs``. ``purged_until``: after a
    seek into the future: messages published before it are acknowledged at once. ``is_filtered``:
    whether the subscription has a filter; messages that do not pass it count as acknowledged.
    """

    time: datetime
    spans: tuple[SurveyedSpan, ...]
    stored_count: int
    stored_from: datetime | None
    purged_until: datetime | None
    others: tuple[SurveyedSpan, ...] = ()
    stored_runs: tuple[tuple[int, int], ...] = ()
    is_filtered: bool = False

    @property
    def unacked_count(self) -> int:
        """How many messages are not acknowledged."""
        acknowledged = {state.value for state in ACKNOWLEDGED}
        return sum(s.message_count for s in self.spans if s.state not in acknowledged)

    @property
    def elsewhere_count(self) -> int:
        """How many messages stored in the topic are in no span."""
        return max(0, self.stored_count - sum(span.message_count for span in self.spans))


def survey_of(source: Source, state: AckState, now: datetime) -> AckStateSurvey:
    """Return the survey of a subscription that has caught up with its topic."""
    state = source.clip_retained(state, now)
    stored, first = source.messages.count()
    files = sorted(source.messages.files(), key=lambda each: each.position_min or 0)
    ahead = state.floor is not None and state.floor > now
    return AckStateSurvey(
        time=now,
        spans=tuple(map(_surveyed, state.spans)),
        stored_count=stored,
        stored_from=first,
        purged_until=state.floor if ahead else None,
        others=tuple(_others(source, union(state.spans), files, now)),
        stored_runs=tuple(_joined((f.position_min or 0, f.position_max or 0) for f in files)),
        is_filtered=bool(source.subscription.filter),
    )


def _surveyed(span: Span) -> SurveyedSpan:
    ends = span.state in (State.LEASED, State.BACKING_OFF)
    return SurveyedSpan(
        state=span.state.value,
        message_count=len(span),
        publish_time_min=span.publish_time_min,
        publish_time_max=span.publish_time_max,
        delivery_attempt=span.delivery_attempt,
        until=span.until if ends else None,
        runs=_runs(span.positions),
    )


def _others(
    source: Source, held: Positions, files: Sequence[DataFile], now: datetime
) -> list[SurveyedSpan]:
    """Return the messages of each file that are in no span, by their state."""
    subscription = source.subscription
    covered = source.covered_from(now)
    cutoff = now - subscription.message_retention_duration
    kept_from = cutoff if covered is None else min(cutoff, covered)
    bounds = [(subscription.create_time, BEFORE), (kept_from, EXPIRED)]
    found = []
    for file in files:
        first, last = file.publish_time_min, file.publish_time_max
        if not file.rows or file.position_min is None or file.position_max is None:
            continue
        if first is None or last is None:
            continue
        here = Positions.between(file.position_min, file.position_max)
        missing = file.position_max - file.position_min + 1 - file.rows
        rest = (source.messages.positions_within(here) if missing else here) - held
        held |= rest  # where files overlap, a message counts once
        for bound, state in sorted(bounds):
            if not rest or first >= bound:
                continue
            older = rest if last < bound else source.messages.earlier_than(rest, bound)
            found.append(_other(state, older, first, min(last, bound)))
            rest, first = rest - older, max(first, bound)
        found.append(_other(ACKNOWLEDGED_ONES, rest, first, last))
    return [each for each in found if each.message_count]


def _other(state: str, positions: Positions, first: datetime, last: datetime) -> SurveyedSpan:
    return SurveyedSpan(state, len(positions), first, last, 1, None, _runs(positions))


def _runs(positions: Positions) -> tuple[tuple[int, int], ...]:
    runs = positions.runs(MOST_RUNS)
    if len(runs) == MOST_RUNS and runs[-1][1] < positions.max:
        runs[-1] = (runs[-1][0], positions.max)
    return tuple(runs)


def _joined(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join runs that touch or overlap; they are given in the order of their beginnings."""
    joined: list[tuple[int, int]] = []
    for first, last in runs:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
