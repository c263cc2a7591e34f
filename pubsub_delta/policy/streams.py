"""Micro-batches of streaming queries: each a lease that is named by its query and batch id.

Spark runs a micro-batch again if it did not see it end, and expects the same rows: an idempotent
sink skips a batch id that it has seen. So the ack state remembers the last micro-batch that each
query started. Run again, it sees the same messages, less those that somebody has spoken for since,
and never others.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, Span, State, Stream, union
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import is_exhausted
from pubsub_delta.policy.spans import holding

MAX_STREAMS = 256
"""Queries whose last micro-batch is remembered; beyond it those that took messages least lately
are forgotten. A forgotten query that runs a micro-batch again gets other messages: one must not be
down, with a micro-batch begun and not ended, while so many others come and go."""

_UNHELD = (State.AVAILABLE, State.BACKING_OFF)


def finish_before(
    state: AckState, query_id: str, batch_id: int, terms: Terms, now: datetime
) -> AckState:
    """Acknowledge a query's last micro-batch, if it is one before this: Spark has seen it end.

    Also where its lease was over by now, and with exactly-once delivery too, as long as nobody
    else was given the messages. What the query gave back, message by message, stays given back.
    """
    last = started_last(state, query_id)
    if last is None or batch_id <= last.batch_id or not last.positions:
        return state
    unheld = [span.only(last.positions) for span in state.in_state(*_UNHELD)]
    until = now + timedelta(minutes=1)  # any time that is not over: they are acknowledged at once
    state = _held_by(state, last, union(unheld), until)
    held = {last.lease_id: union(_leased(state, last))}
    state, _ = delivery.acknowledge(state, held, terms, now)
    return _remembering(state, last.without(last.positions))


def begin(
    state: AckState,
    query_id: str,
    batch_id: int,
    max_messages: int | None,
    terms: Terms,
    now: datetime,
    below: int | None = None,
) -> tuple[AckState, list[Span]]:
    """Lease messages to a micro-batch; to one that was started before, those it had, or none.

    A micro-batch that gets none is not remembered: nobody has seen it, so it may get some later.
    ``below``: no more messages than are available at lower positions, the oldest of all first.
    """
    last = started_last(state, query_id)
    if last is None or batch_id > last.batch_id:
        if below is not None:
            old = len(union(state.in_state(State.AVAILABLE)).within(0, below - 1))
            max_messages = old if max_messages is None else min(max_messages, old)
        following, leased = delivery.lease(state, max_messages, terms, now)
        if not leased:
            return state, []
        started = Stream(query_id, batch_id, state.next_lease_id, union(leased))
        return _remembering(following, started), leased
    return resume(state, query_id, batch_id, terms, now)


def resume(
    state: AckState, query_id: str, batch_id: int, terms: Terms, now: datetime
) -> tuple[AckState, list[Span]]:
    """Lease to a micro-batch that is run again what it had, or none; none also if it is forgotten.

    For whoever knows that the micro-batch was started: other messages than the ones that it had
    would be skipped by the sink that has seen it.
    """
    last = started_last(state, query_id)
    if last is None or last.batch_id != batch_id:
        return state, []
    until = now + timedelta(seconds=terms.subscription.ack_deadline_seconds)
    state = _held_by(state, last, _free(state, last, terms), until)
    leased = _leased(state, last)
    again = replace(last, positions=union(leased))
    return (_remembering(state, again) if again != last else state), leased


def give_back(
    state: AckState, query_id: str, batch_id: int, terms: Terms, now: datetime, *, failed: bool
) -> AckState:
    """Give back a micro-batch that was not processed: as a nack of its messages if it failed.

    It stays known as the query's: run again, it gets them again unless somebody else has.
    """
    last = started_last(state, query_id)
    if last is None or last.batch_id != batch_id:
        return state
    named = {last.lease_id: last.positions}
    if failed:
        state, _ = delivery.modify_ack_deadline(state, named, terms, now, timedelta(0))
    else:
        state = delivery.give_back(state, named, terms, now)
    return _remembering(state, last)


def started_last(state: AckState, query_id: str) -> Stream | None:
    """Return the micro-batch that a query started last, if it is remembered."""
    return next((stream for stream in state.streams if stream.query_id == query_id), None)


def _remembering(state: AckState, started: Stream) -> AckState:
    others = [stream for stream in state.streams if stream.query_id != started.query_id]
    kept = sorted([*others, started], key=lambda stream: stream.lease_id)[-MAX_STREAMS:]
    return replace(state, streams=tuple(kept))


def _leased(state: AckState, stream: Stream) -> list[Span]:
    held = [span for span in state.in_state(State.LEASED) if span.lease_id == stream.lease_id]
    return [part for part in (span.only(stream.positions) for span in held) if part]


def _held_by(state: AckState, stream: Stream, unheld: Positions, until: datetime) -> AckState:
    """Put messages that nobody holds under the lease of a micro-batch again, and extend it."""
    spans: list[Span] = []
    for span in state.spans:
        if span.state is State.LEASED and span.lease_id == stream.lease_id:
            mine = span.positions & stream.positions
        else:
            mine = span.positions & unheld if span.state in _UNHELD else Positions()
        taken = replace(span.only(mine), state=State.LEASED, lease_id=stream.lease_id, until=until)
        spans += [span.without(mine), taken]
    return holding(state, spans)


def _free(state: AckState, stream: Stream, terms: Terms) -> Positions:
    """Return the messages of a micro-batch whose lease was over and which may be held again.

    Not those that have had all their attempts, nor, with ordering, those of a key of which others
    hold messages or earlier ones wait.
    """
    mine = [
        part
        for span in state.in_state(*_UNHELD)
        if not is_exhausted(span.released(), terms.subscription)
        and (part := span.only(stream.positions))
    ]
    free = union(mine)
    if not free or not terms.subscription.enable_message_ordering:
        return free
    held = [s for s in state.in_state(State.LEASED) if s.lease_id != stream.lease_id]
    held += [s for s in state.spans if is_exhausted(s, terms.subscription)]
    waiting = state.in_state(*_UNHELD)
    earlier = [s.only(s.positions.within(0, free.max) - free) for s in waiting]
    if held:
        free -= terms.keys.sharing(held, mine)
    earlier = [span for span in earlier if span]
    if earlier:
        free -= terms.keys.followers(earlier, mine)
    return free
