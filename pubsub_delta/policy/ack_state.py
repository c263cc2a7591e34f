"""What a subscription remembers: a tail, and a few spans of message positions.

A message of the topic is unacknowledged if it stands in a span, or was committed after the tail;
otherwise it is acknowledged. Nothing else is kept, and nothing per message.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from pubsub_delta.policy.positions import Positions

MAX_AVAILABLE_SPANS = 32
"""Available spans are kept apart by publish time, so that a pull reads few files; but not more."""


class State(str, Enum):
    """The delivery state that all messages of a span share."""

    AVAILABLE = "available"
    LEASED = "leased"


@dataclass(frozen=True)
class Span:
    """Messages in the same delivery state, and the publish times between which they all lie.

    ``lease_id`` and ``until`` (the end of the lease, which is no longer part of it) belong to
    leased spans only.
    """

    state: State
    positions: Positions
    publish_time_min: datetime
    publish_time_max: datetime
    lease_id: int | None = None
    until: datetime | None = None

    def __len__(self) -> int:
        return len(self.positions)

    def without(self, positions: Positions) -> Span:
        """Return the span with fewer messages."""
        return replace(self, positions=self.positions - positions)

    def only(self, positions: Positions) -> Span:
        """Return the span with no other messages than these."""
        return replace(self, positions=self.positions & positions)


@dataclass(frozen=True)
class Absorbed:
    """Messages that were newly found in the topic: those of one commit, usually."""

    positions: Positions
    publish_time_min: datetime
    publish_time_max: datetime


@dataclass(frozen=True)
class AckState:
    """The acknowledgement state of one subscription.

    ``after_version``: the tail, every message that was committed after this version of the topic.
    ``absorbed_below``: no position from here on was ever looked at. ``next_lease_id``: the number
    that the next delivery gets.
    """

    after_version: int
    absorbed_below: int = 0
    next_lease_id: int = 1
    spans: tuple[Span, ...] = ()

    def in_state(self, state: State) -> list[Span]:
        """Return the spans in one delivery state."""
        return [span for span in self.spans if span.state is state]

    def count(self, state: State | None = None) -> int:
        """Return how many messages the spans hold, in one delivery state or in all."""
        return sum(len(span) for span in self.spans if state in (None, span.state))

    def holding(self, spans: Iterable[Span]) -> AckState:
        """Return the state with these spans instead of its own, tidied up."""
        return replace(self, spans=_tidy(spans))


def _tidy(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Drop empty spans, unite equal ones, and keep the available ones few, oldest first."""
    leases: dict[tuple[int | None, datetime | None], Span] = {}
    available: list[Span] = []
    for span in spans:
        if not span.positions:
            continue
        if span.state is State.AVAILABLE:
            available.append(span)
        else:
            key = (span.lease_id, span.until)
            leases[key] = unite(leases[key], span) if key in leases else span
    return (*_coalesce(available), *sorted(leases.values(), key=_lease_order))


def unite(one: Span, other: Span) -> Span:
    """Return one span for the messages of two that share everything else."""
    return replace(
        one,
        positions=one.positions | other.positions,
        publish_time_min=min(one.publish_time_min, other.publish_time_min),
        publish_time_max=max(one.publish_time_max, other.publish_time_max),
    )


def _lease_order(span: Span) -> tuple[int, datetime]:
    assert span.lease_id is not None
    assert span.until is not None
    return span.lease_id, span.until


def _coalesce(spans: list[Span]) -> list[Span]:
    """Unite neighbours in time, those that hold least first, until the spans are few enough.

    Spans of the same publish times are united however few there are.
    """
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.publish_time_min, span.publish_time_max)):
        if joined and span.publish_time_max <= joined[-1].publish_time_max:
            joined[-1] = unite(joined[-1], span)
        else:
            joined.append(span)
    if len(joined) <= MAX_AVAILABLE_SPANS:
        return joined
    return _unite_smallest(joined, MAX_AVAILABLE_SPANS)


def _unite_smallest(spans: list[Span], limit: int) -> list[Span]:
    """Unite the pair of neighbours that holds least, again and again, until ``limit`` are left."""
    alive: dict[int, Span] = dict(enumerate(spans))
    after = {place: place + 1 for place in range(len(spans) - 1)}
    before = {right: left for left, right in after.items()}
    pairs = [(len(spans[a]) + len(spans[b]), a, b) for a, b in after.items()]
    heapq.heapify(pairs)
    while len(alive) > limit:
        size, left, right = heapq.heappop(pairs)
        stale = after.get(left) != right or left not in alive
        if stale or size != len(alive[left]) + len(alive[right]):
            continue
        alive[left] = unite(alive[left], alive.pop(right))
        following = after.pop(right, None)
        before.pop(right)
        if following is None:
            del after[left]
        else:
            after[left], before[following] = following, left
            heapq.heappush(pairs, (len(alive[left]) + len(alive[following]), left, following))
        if left in before:
            neighbour = before[left]
            heapq.heappush(pairs, (len(alive[neighbour]) + len(alive[left]), neighbour, left))
    return list(alive.values())
