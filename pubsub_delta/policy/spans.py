"""Keeps spans few: unites equal ones, and nearly equal ones if there are too many.

The cost of an operation depends on the number of spans, not on that of messages.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from pubsub_delta.clock import UTC
from pubsub_delta.policy.ack_state import AckState, Span, State, union

MAX_NEW_SPANS = 32
"""The most available spans that differ in publish time only, so that a pull reads few files."""
MAX_RETAINED_SPANS = 32
"""The most spans of acknowledged messages that a seek can restore."""
MAX_FAILED_SPANS = 4
"""The most spans of messages that failed equally often, and last under the same lease."""
MAX_FAILED_LEASES = 32
"""The most leases under which available messages failed last. Beyond it the messages that failed
latest count as having failed together.
"""
MAX_WAITING_SPANS = 256
"""The most spans in backoff. Beyond it some messages wait until a later backoff ends."""
MAX_LEASED_SPANS = 1024
"""The most leased spans. Beyond it earlier deadlines of a lease are moved to later ones."""


def with_spans(state: AckState, spans: Iterable[Span]) -> AckState:
    """Return the state with other spans, united and sorted.

    A message that is in an unacknowledged span is dropped from retained spans.
    """
    by_state: dict[State, list[Span]] = {each: [] for each in State}
    for span in _equal_united(spans):
        by_state[span.state].append(span)
    live = {span.lease_id for span in by_state[State.LEASED]}
    tidy = [
        *_available(by_state[State.AVAILABLE]),
        *_few(by_state[State.LEASED], MAX_LEASED_SPANS),
        *_few(by_state[State.BACKING_OFF], MAX_WAITING_SPANS),
        *by_state[State.FORWARDING],
        *by_state[State.WRITING],
        *(span for span in by_state[State.ACKED] if span.lease_id in live),
    ]
    retained = by_state[State.RETAINED]
    if retained:
        unacked = union(span for span in tidy if span.state is not State.ACKED)
        parts = [span.without(unacked) for span in retained]
        tidy += _coalesce([part for part in parts if part], MAX_RETAINED_SPANS)
    return replace(state, spans=tuple(tidy))


def _equal_united(spans: Iterable[Span]) -> list[Span]:
    """Drop empty spans, and unite those that differ only in their messages."""
    united: dict[Hashable, Span] = {}
    for span in spans:
        if span.positions:
            key: Hashable = (span.state, *_kind(span), span.until, span.forward_to)
            key = (key, span.failed_lease_id)
            if span.state in (State.AVAILABLE, State.RETAINED):
                key = (key, span.publish_time_min, span.publish_time_max)
            united[key] = united[key].unite(span) if key in united else span
    return sorted(united.values(), key=lambda span: (*_kind(span), span.until or _NEVER))


_NEVER = datetime.max.replace(tzinfo=UTC)


def _kind(span: Span) -> tuple[int, ...]:
    """Return the fields in which two spans of a state must agree to be united."""
    tried = span.failed_lease_id is not None
    return (span.lease_id or 0, span.delivery_attempt, span.failures, int(tried))


def _grouped(
    spans: Iterable[Span], key: Callable[[Span], tuple[int, ...]]
) -> dict[tuple[int, ...], list[Span]]:
    groups: dict[tuple[int, ...], list[Span]] = {}
    for span in spans:
        groups.setdefault(key(span), []).append(span)
    return groups


def _available(spans: list[Span]) -> list[Span]:
    """Keep spans few: those of messages that never failed, and of each lease that failed."""
    untried = [span for span in spans if span.failed_lease_id is None]
    failed = _of_few_leases([span for span in spans if span.failed_lease_id is not None])
    new = _grouped(untried, _kind).values()
    old = _grouped(failed, lambda span: (*_kind(span), span.failed_lease_id or 0)).values()
    parts = [_coalesce(group, MAX_NEW_SPANS) for group in new]
    parts += [_coalesce(group, MAX_FAILED_SPANS) for group in old]
    return [span for part in parts for span in part]


def _of_few_leases(failed: list[Span]) -> list[Span]:
    """Join the messages that failed latest, if messages failed under too many leases.

    Those that failed first stay separate, so that none of them is overtaken.
    """
    numbers = sorted({span.failed_lease_id or 0 for span in failed})
    if len(numbers) <= MAX_FAILED_LEASES:
        return failed
    joined, newest = numbers[MAX_FAILED_LEASES - 1], numbers[-1]
    return [
        replace(span, failed_lease_id=newest) if (span.failed_lease_id or 0) >= joined else span
        for span in failed
    ]


def _few(spans: list[Span], limit: int) -> list[Span]:
    """Unite spans of one kind whose ends are nearest, until there are few enough, if possible.

    The spans come sorted by kind and end.
    """
    excess = len(spans) - limit
    if excess <= 0:
        return spans
    gaps: list[tuple[timedelta, int]] = []
    for place, (one, other) in enumerate(pairwise(spans)):
        if _kind(one) == _kind(other) and one.until is not None and other.until is not None:
            gaps.append((other.until - one.until, place))
    joined = {place for _, place in heapq.nsmallest(excess, gaps)}
    kept: list[Span] = []
    for place, span in enumerate(spans):
        if place - 1 in joined:
            kept[-1] = kept[-1].unite(span)
        else:
            kept.append(span)
    return kept


def _coalesce(spans: list[Span], limit: int) -> list[Span]:
    """Unite neighbours in time, the smallest first, until the spans are few enough.

    Spans of the same publish times are always united.
    """
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.publish_time_min, span.publish_time_max)):
        if joined and span.publish_time_max <= joined[-1].publish_time_max:
            joined[-1] = joined[-1].unite(span)
        else:
            joined.append(span)
    return joined if len(joined) <= limit else _unite_smallest(joined, limit)


def _unite_smallest(spans: list[Span], limit: int) -> list[Span]:
    """Unite the smallest pair of neighbours repeatedly, until ``limit`` spans are left."""
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
        alive[left] = alive[left].unite(alive.pop(right))
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
