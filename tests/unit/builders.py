"""Small builders, so that a case states only what matters to it.

Times are seconds after START, positions are plain numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pubsub_delta.clock import UTC
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import Absorbed, AckState, Span, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Subscription

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


class KeysOf:
    """Ordering keys by position, for those who would otherwise read them from the topic."""

    def __init__(self, keys: Mapping[int, str]) -> None:
        self._keys = keys

    def sharing(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        keys = {self._keys[each] for each in union(of) if self._keys.get(each)}
        return Positions.of(each for each in union(among) if self._keys.get(each) in keys)

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        firsts: dict[str, int] = {}
        for position in union(of):
            firsts.setdefault(self._keys.get(position, ""), position)
        return Positions.of(
            each
            for each in union(among)
            if self._keys.get(each) and firsts.get(self._keys[each], each) < each
        )


PLAIN = Subscription(
    name="projects/local/subscriptions/plain",
    topic="projects/local/topics/plain",
    ack_deadline_seconds=10,
    message_retention_duration=timedelta(days=7),
    filter="",
    enable_message_ordering=False,
    enable_exactly_once_delivery=False,
    dead_letter_policy=None,
    retry_policy=None,
    labels={},
    detached=False,
    create_time=START,
    uid="0" * 32,
)


def terms(keys: Mapping[int, str] | None = None, **fields: Any) -> delivery.Terms:
    """Return the terms of a subscription with these fields; keys by position turn ordering on."""
    fields["enable_message_ordering"] = keys is not None
    return delivery.Terms(replace(PLAIN, **fields), KeysOf(keys or {}))


def pull(
    state: AckState,
    count: int | None = None,
    now: float = 0,
    deadline: int = 10,
    on: delivery.Terms | None = None,
) -> tuple[AckState, int]:
    """Lease messages; return the next state and the number of the lease."""
    state, leased = take(state, count, now, deadline, on)
    assert leased, "nothing was available"
    lease_id = leased[0].lease_id
    assert lease_id is not None
    return state, lease_id


def take(
    state: AckState,
    count: int | None = None,
    now: float = 0,
    deadline: int = 10,
    on: delivery.Terms | None = None,
) -> tuple[AckState, list[Span]]:
    """Lease messages, if there are any; return the next state and what was leased."""
    on = on or terms()
    on = replace(on, subscription=replace(on.subscription, ack_deadline_seconds=deadline))
    return delivery.lease(delivery.settle(state, on, at(now)), count, on, at(now))


def ack(
    state: AckState,
    named: Mapping[int, Iterable[int]],
    now: float = 0,
    on: delivery.Terms | None = None,
) -> tuple[AckState, dict[str, dict[int, set[int]]]]:
    """Acknowledge messages named by lease; return the next state and the outcomes."""
    state, outcomes = delivery.acknowledge(state, _positions(named), on or terms(), at(now))
    return state, shown(outcomes)


def modify(
    state: AckState,
    named: Mapping[int, Iterable[int]],
    deadline: float,
    now: float = 0,
    on: delivery.Terms | None = None,
) -> tuple[AckState, dict[str, dict[int, set[int]]]]:
    """Give deliveries a new deadline; return the next state and the outcomes."""
    state, outcomes = delivery.modify_ack_deadline(
        state, _positions(named), on or terms(), at(now), timedelta(seconds=deadline)
    )
    return state, shown(outcomes)


def nack(
    state: AckState,
    named: Mapping[int, Iterable[int]],
    now: float = 0,
    on: delivery.Terms | None = None,
) -> AckState:
    """Give deliveries back; return the next state."""
    return modify(state, named, 0, now, on)[0]


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


def available(state: AckState, now: float = 0, on: delivery.Terms | None = None) -> list[int]:
    """Return the messages that a pull at a time may deliver, in order."""
    state = delivery.settle(state, on or terms(), at(now))
    return sorted(each for span in state.in_state(State.AVAILABLE) for each in span.positions)


def leased(
    state: AckState, now: float = 0, on: delivery.Terms | None = None
) -> dict[int, list[int]]:
    """Return the messages of every lease that is live at a time, by its number."""
    held: dict[int, list[int]] = {}
    for span in delivery.settle(state, on or terms(), at(now)).in_state(State.LEASED):
        assert span.lease_id is not None
        held[span.lease_id] = sorted([*held.get(span.lease_id, []), *span.positions])
    return held


def _positions(named: Mapping[int, Iterable[int]]) -> dict[int, Positions]:
    return {lease_id: Positions.of(positions) for lease_id, positions in named.items()}
