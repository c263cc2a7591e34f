"""Writing to a table, in three steps that can each be repeated, so that every message lands once.

Decide: what fits the table leaves its lease for a write with a number of its own, and what does not
fit has failed. Append: the rows go to the table in one commit, which carries the number as a
transaction. Finish: the messages are acknowledged. Whoever comes next takes up the writes that are
under way, the lowest number first: the same messages under the same number, which land once.

A write that cannot be carried out any more, as the table has changed, is given back when a commit
without rows has taken its number: so nobody who decided the same can land it afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import RESTORED_LEAP
from pubsub_delta.policy.spans import holding


def decide(state: AckState, lease_id: int, fitting: Positions, table: str) -> AckState:
    """Move messages from a lease to a new write, as far as the lease still holds them.

    ``table``: where they are to be written.
    """
    held = [s for s in state.in_state(State.LEASED) if s.lease_id == lease_id]
    moving = [part for part in (span.only(fitting) for span in held) if part]
    if not moving:
        return state
    number = state.next_lease_id
    moved = [
        replace(span, state=State.WRITING, lease_id=number, until=None, forward_to=table)
        for span in moving
    ]
    kept = [span.without(fitting) if span in held else span for span in state.spans]
    return holding(replace(state, next_lease_id=number + 1), [*kept, *moved])


def writes(state: AckState) -> dict[int, list[Span]]:
    """Return what is being written, by number, the lowest first."""
    found: dict[int, list[Span]] = {}
    for span in state.in_state(State.WRITING):
        assert span.lease_id is not None
        found.setdefault(span.lease_id, []).append(span)
    return dict(sorted(found.items()))


def written(state: AckState, number: int, *, retain: bool) -> AckState:
    """Acknowledge the messages of a write that has landed.

    ``retain``: whether the subscription retains acknowledged messages.
    """
    spans = writes(state).get(number, [])
    if not spans:
        return state
    counters = state.counters
    count = counters.success + sum(map(len, spans))
    state = replace(state, counters=replace(counters, success=count))
    kept = [span for span in state.spans if span not in spans]
    return holding(state, [*kept, *(span.retained() for span in spans if retain)])


def given_back(state: AckState, number: int) -> AckState:
    """Make the messages of a write available that will never land: no delivery has failed."""
    return holding(
        state,
        (span.released() if _is_of(span, number) else span for span in state.spans),
    )


def renumbered(state: AckState, number: int) -> AckState:
    """Give a write a higher number: under its own one, other messages were written.

    An operator had restored the ack state of a moment before that.
    """
    higher = max(state.next_lease_id, number + RESTORED_LEAP)
    spans = [replace(s, lease_id=higher) if _is_of(s, number) else s for s in state.spans]
    return holding(replace(state, next_lease_id=higher + 1), spans)


def _is_of(span: Span, number: int) -> bool:
    return span.state is State.WRITING and span.lease_id == number
