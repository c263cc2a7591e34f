"""Small builders, so that a case states only what matters to it.

Times are seconds after START, positions are plain numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pubsub_delta.clock import UTC
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import Absorbed, AckState, Span, State
from pubsub_delta.policy.positions import Positions

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return the time so many seconds after START."""
    return START + timedelta(seconds=seconds)


def committed(positions: Iterable[int], first: float = 0, last: float | None = None) -> Absorbed:
    """Return messages that were published at one time, or between two."""
    return Absorbed(Positions.of(positions), at(first), at(first if last is None else last))


def available_span(positions: Iterable[int], first: float = 0, last: float | None = None) -> Span:
    """Return an available span of messages published at one time, or between two."""
    until = at(first if last is None else last)
    return Span(State.AVAILABLE, Positions.of(positions), at(first), until)


def state_of(*commits: Absorbed) -> AckState:
    """Return a state that has absorbed these commits, and leased nothing."""
    return delivery.absorb(AckState(after_version=0), commits, len(commits))


def backlog(count: int) -> AckState:
    """Return a state with the messages 0 to count - 1 available, published at START."""
    return state_of(committed(range(count)))


def pull(
    state: AckState, count: int | None = None, now: float = 0, deadline: float = 10
) -> tuple[AckState, int]:
    """Lease messages; return the next state and the number of the lease."""
    state = delivery.expire_leases(state, at(now))
    state, leased = delivery.lease(state, count, at(now), timedelta(seconds=deadline))
    assert leased is not None, "nothing was available"
    assert leased.lease_id is not None
    return state, leased.lease_id


def ack(
    state: AckState, named: Mapping[int, Iterable[int]], now: float = 0
) -> tuple[AckState, dict[str, dict[int, set[int]]]]:
    """Acknowledge messages named by lease; return the next state and the outcomes."""
    state, outcomes = delivery.acknowledge(state, _positions(named), at(now))
    return state, shown(outcomes)


def modify(
    state: AckState, named: Mapping[int, Iterable[int]], deadline: float, now: float = 0
) -> tuple[AckState, dict[str, dict[int, set[int]]]]:
    """Give deliveries a new deadline; return the next state and the outcomes."""
    state, outcomes = delivery.modify_ack_deadline(
        state, _positions(named), at(now), timedelta(seconds=deadline)
    )
    return state, shown(outcomes)


def shown(outcomes: delivery.Outcomes) -> dict[str, dict[int, set[int]]]:
    """Return outcomes as plain sets, without those that name no message."""
    by_name = {
        "success": outcomes.success,
        "expired": outcomes.expired,
        "invalid": outcomes.invalid,
    }
    plain = {
        name: {lease_id: set(each) for lease_id, each in found.items() if each}
        for name, found in by_name.items()
    }
    return {name: found for name, found in plain.items() if found}


def available(state: AckState, now: float = 0) -> list[int]:
    """Return the messages that a pull at a time may deliver, in order."""
    state = delivery.expire_leases(state, at(now))
    return sorted(each for span in state.in_state(State.AVAILABLE) for each in span.positions)


def leased(state: AckState, now: float = 0) -> dict[int, list[int]]:
    """Return the messages of every lease that is live at a time, by its number."""
    held: dict[int, list[int]] = {}
    for span in delivery.expire_leases(state, at(now)).in_state(State.LEASED):
        assert span.lease_id is not None
        held[span.lease_id] = sorted([*held.get(span.lease_id, []), *span.positions])
    return held


def _positions(named: Mapping[int, Iterable[int]]) -> dict[int, Positions]:
    return {lease_id: Positions.of(positions) for lease_id, positions in named.items()}
