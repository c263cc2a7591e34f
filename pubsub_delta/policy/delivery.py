"""What happens to a message between publishing and its acknowledgement.

Every function takes an ack state and returns the next one. Times are arguments; a lease that ends
at ``until`` is over at that instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pubsub_delta.policy.ack_state import Absorbed, AckState, Span, State
from pubsub_delta.policy.positions import Positions

NOTHING = Positions()


@dataclass(frozen=True)
class Outcomes:
    """What became of the positions that a call named, by the lease that it named them under."""

    success: Mapping[int, Positions]
    expired: Mapping[int, Positions]
    invalid: Mapping[int, Positions]


def absorb(state: AckState, absorbed: Iterable[Absorbed], version: int) -> AckState:
    """Make what was committed up to a version of the topic available, and move the tail there."""
    new = [
        Span(State.AVAILABLE, part.positions, part.publish_time_min, part.publish_time_max)
        for part in absorbed
        if part.positions
    ]
    below = max([state.absorbed_below, *(span.positions.max + 1 for span in new)])
    return replace(state, after_version=version, absorbed_below=below).holding([*state.spans, *new])


def expire_leases(state: AckState, now: datetime) -> AckState:
    """Make the messages of leases that are over available again (Pub/Sub: deadline passed)."""
    if not any(_is_over(span, now) for span in state.spans):
        return state
    return state.holding(_released(span) if _is_over(span, now) else span for span in state.spans)


def discard_before(state: AckState, oldest: datetime) -> AckState:
    """Drop the available spans all of whose messages were published before ``oldest``.

    An age equal to the retention is still kept. A leased message stays until its lease is over.
    """
    if not any(_is_discarded(span, oldest) for span in state.spans):
        return state
    return state.holding(span for span in state.spans if not _is_discarded(span, oldest))


def straddling(state: AckState, oldest: datetime) -> list[Span]:
    """Return the available spans with messages on both sides of ``oldest``, as far as is known."""
    return [
        span
        for span in state.in_state(State.AVAILABLE)
        if span.publish_time_min < oldest <= span.publish_time_max
    ]


def clip(state: AckState, oldest: datetime, gone: Positions, earliest: datetime) -> AckState:
    """Take the positions that were published before ``oldest`` out of the straddling spans.

    ``earliest`` is a bound that all remaining messages of those spans keep: none is older.
    """
    clipped = straddling(state, oldest)
    return state.holding(
        replace(span.without(gone), publish_time_min=max(earliest, span.publish_time_min))
        if span in clipped
        else span
        for span in state.spans
    )


def lease(
    state: AckState, max_messages: int | None, now: datetime, ack_deadline: timedelta
) -> tuple[AckState, Span | None]:
    """Lease up to ``max_messages`` available messages (None: all), the oldest positions first.

    Return the next state and the lease, or None where nothing is available.
    """
    available = state.in_state(State.AVAILABLE)
    chosen = Positions.union(span.positions for span in available)
    if max_messages is not None:
        chosen = chosen.first(max_messages)
    if not chosen:
        return state, None
    taken = [span.only(chosen) for span in available]
    window = [span for span in taken if span.positions]
    leased = Span(
        State.LEASED,
        chosen,
        min(span.publish_time_min for span in window),
        max(span.publish_time_max for span in window),
        lease_id=state.next_lease_id,
        until=now + ack_deadline,
    )
    kept = [span.without(chosen) if span.state is State.AVAILABLE else span for span in state.spans]
    following = replace(state, next_lease_id=state.next_lease_id + 1)
    return following.holding([*kept, leased]), leased


def acknowledge(
    state: AckState, named: Mapping[int, Positions], now: datetime
) -> tuple[AckState, Outcomes]:
    """Acknowledge positions, named under the leases of their deliveries.

    Lease live, or message already acknowledged → success. Lease over and message
    unacknowledged → expired, and acknowledged by this unless another lease holds it. A lease or
    position that never was → invalid.
    """
    state = expire_leases(state, now)
    success: dict[int, Positions] = {}
    expired: dict[int, Positions] = {}
    invalid: dict[int, Positions] = {}
    for lease_id, positions in sorted(named.items()):
        known, invalid[lease_id] = _split_known(state, lease_id, positions)
        live = known & _held_by(state, lease_id)
        late = known - live
        unacked = late & Positions.union(span.positions for span in state.spans)
        success[lease_id] = known - unacked
        expired[lease_id] = unacked
        under_another = unacked & Positions.union(
            span.positions for span in state.in_state(State.LEASED)
        )
        state = _remove(state, live | (unacked - under_another))
    return state, Outcomes(success, expired, invalid)


def modify_ack_deadline(
    state: AckState, named: Mapping[int, Positions], now: datetime, deadline: timedelta
) -> tuple[AckState, Outcomes]:
    """Give live leases a new deadline from now; zero ends them (a nack: available at once).

    A lease that is over → expired, without effect. A lease or position that never was → invalid.
    """
    state = expire_leases(state, now)
    success: dict[int, Positions] = {}
    expired: dict[int, Positions] = {}
    invalid: dict[int, Positions] = {}
    for lease_id, positions in sorted(named.items()):
        known, invalid[lease_id] = _split_known(state, lease_id, positions)
        success[lease_id] = live = known & _held_by(state, lease_id)
        expired[lease_id] = known - live
        spans: list[Span] = []
        for span in state.spans:
            if span.lease_id != lease_id or not live:
                spans.append(span)
                continue
            chosen = span.only(live)
            spans.append(span.without(live))
            spans.append(replace(chosen, until=now + deadline) if deadline else _released(chosen))
        state = state.holding(spans)
    return state, Outcomes(success, expired, invalid)


def _is_over(span: Span, now: datetime) -> bool:
    return span.until is not None and span.until <= now


def _released(span: Span) -> Span:
    return replace(span, state=State.AVAILABLE, lease_id=None, until=None)


def _is_discarded(span: Span, oldest: datetime) -> bool:
    return span.state is State.AVAILABLE and span.publish_time_max < oldest


def _held_by(state: AckState, lease_id: int) -> Positions:
    return Positions.union(span.positions for span in state.spans if span.lease_id == lease_id)


def _split_known(
    state: AckState, lease_id: int, positions: Positions
) -> tuple[Positions, Positions]:
    """Split positions into those that a lease can have held, and those that it cannot."""
    if not 0 < lease_id < state.next_lease_id or not state.absorbed_below:
        return NOTHING, positions
    known = positions & Positions.between(0, state.absorbed_below - 1)
    return known, positions - known


def _remove(state: AckState, positions: Positions) -> AckState:
    if not positions:
        return state
    return state.holding(span.without(positions) for span in state.spans)
