"""Writing to a table in three steps that can each be repeated, so that every message lands once.

Decide: messages that fit the table leave their lease for a write with a number of its own; the
delivery of the others fails. Append: one commit of the table adds the rows, and carries the number
as a transaction. Finish: the messages are acknowledged. The next consumer completes writes that are
under way, the lowest number first: the same messages under the same number, which lands once.

If the table has changed so that rows no longer fit, a commit without rows takes the number of the
write. Then no other process can land that write, and its messages are given back.
"""

from __future__ import annotations

from dataclasses import replace

from pubsub_delta.policy import redelivery
from pubsub_delta.policy.ack_state import AckState, Span, State, spans_within
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import with_spans


def decide(state: AckState, lease_id: int, fitting: Positions, table: str) -> AckState:
    """Move messages from a lease to a new write, those that the lease still holds.

    ``table``: the table that they will be written to.
    """
    held = state.of_lease(lease_id, State.LEASED)
    moving = spans_within(held, fitting)
    if not moving:
        return state
    number = state.next_lease_id
    moved = [
        replace(span, state=State.WRITING, lease_id=number, until=None, forward_to=table)
        for span in moving
    ]
    kept = [span.without(fitting) if span in held else span for span in state.spans]
    return with_spans(replace(state, next_lease_id=number + 1), [*kept, *moved])


def writes(state: AckState) -> dict[int, list[Span]]:
    """Return the spans that are being written, by the number of their write, lowest first."""
    return redelivery.numbered(state, State.WRITING)


def written(state: AckState, number: int, *, retain: bool) -> AckState:
    """Acknowledge the messages of a write that has landed.

    ``retain``: whether the subscription retains acknowledged messages.
    """
    spans = state.of_lease(number, State.WRITING)
    if not spans:
        return state
    counters = state.counters
    count = counters.success + sum(map(len, spans))
    state = replace(state, counters=replace(counters, success=count))
    kept = [span for span in state.spans if span not in spans]
    return with_spans(state, [*kept, *(span.retained() for span in spans if retain)])


def given_back(state: AckState, number: int) -> AckState:
    """Make the messages of a cancelled write available; no delivery of them has failed."""
    spans = state.of_lease(number, State.WRITING)
    return with_spans(state, (s.released() if s in spans else s for s in state.spans))


def renumbered(state: AckState, number: int) -> AckState:
    """Give a write a higher number: other messages were written under its own one."""
    return redelivery.renumbered(state, number, State.WRITING)
