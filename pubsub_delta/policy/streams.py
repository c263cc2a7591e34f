"""Micro-batches of streaming queries: each is a lease that its query and batch id name.

Spark repeats a micro-batch whose end it did not record, and expects the same rows: an idempotent
sink skips a batch id that it has committed. So the ack state stores the last micro-batch of each
query. A repetition gets the same messages, except those that others have acknowledged or leased
since, and no other messages.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, Span, State, Stream, spans_within, union
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import is_exhausted
from pubsub_delta.policy.spans import with_spans

MAX_STREAMS = 256
"""The most queries whose last micro-batch is stored; beyond it the least recent ones are dropped. A
dropped query that repeats a micro-batch gets no messages in it. That takes as many other queries
between the start of a micro-batch and its repetition.
"""

_NOT_LEASED = (State.AVAILABLE, State.BACKING_OFF)


def check_checkpoint(name: str, uid: str, kept: object) -> None:
    """Raise FailedPrecondition if a checkpoint is not of the subscription that has a name now.

    Batch ids go on where they were. A sink that has committed one would skip other messages.
    """
    if kept != uid:
        raise FailedPrecondition(
            f"checkpoint: it belongs to another subscription than {name} (uid {kept}, here {uid}), "
            "perhaps a deleted one of the same name; use a checkpoint of this subscription, or a "
            "new one"
        )


def finish_before(
    state: AckState, query_id: str, batch_id: int, terms: Terms, now: datetime
) -> AckState:
    """Acknowledge a query's last micro-batch, if it is an earlier one: Spark has recorded its end.

    The lease can be over, even with exactly-once delivery, if no other consumer leased the
    messages. Messages that the query gave back stay given back.
    """
    last = started_last(state, query_id)
    if last is None or batch_id <= last.batch_id or not last.positions:
        return state
    not_leased = [span.only(last.positions) for span in state.in_state(*_NOT_LEASED)]
    until = now + timedelta(minutes=1)  # any time that is not over: they are acknowledged at once
    state = _leased_again(state, last, union(not_leased), until)
    held = {last.lease_id: union(_leased(state, last))}
    state, _ = delivery.acknowledge(state, held, terms, now)
    return _with_stream(state, last.without(last.positions))


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

    A micro-batch without messages is not stored, so it can get some later. ``below``: only messages
    at lower positions are leased.
    """
    last = started_last(state, query_id)
    if last is None or batch_id > last.batch_id:
        following, leased = delivery.lease(state, max_messages, terms, now, below=below)
        if not leased:
            return state, []
        started = Stream(query_id, batch_id, state.next_lease_id, union(leased))
        return _with_stream(following, started), leased
    return resume(state, query_id, batch_id, terms, now)


def resume(
    state: AckState, query_id: str, batch_id: int, terms: Terms, now: datetime
) -> tuple[AckState, list[Span]]:
    """Lease the messages of a micro-batch to it again; none if it is not stored.

    The caller knows that it was started: its sink may have committed the batch id, and would skip
    any other messages.
    """
    last = started_last(state, query_id)
    if last is None or last.batch_id != batch_id:
        return state, []
    until = now + timedelta(seconds=terms.subscription.ack_deadline_seconds)
    state = _leased_again(state, last, _leasable_again(state, last, terms), until)
    leased = _leased(state, last)
    again = replace(last, positions=union(leased))
    return (_with_stream(state, again) if again != last else state), leased


def give_back(
    state: AckState, query_id: str, batch_id: int, terms: Terms, now: datetime, *, failed: bool
) -> AckState:
    """End the lease of a micro-batch that was not processed: by a nack if it failed.

    It stays stored: a repetition gets the messages that no other consumer has leased.
    """
    last = started_last(state, query_id)
    if last is None or last.batch_id != batch_id:
        return state
    named = {last.lease_id: last.positions}
    if failed:
        state, _ = delivery.modify_ack_deadline(state, named, terms, now, timedelta(0))
    else:
        state = delivery.give_back(state, named, terms, now)
    return _with_stream(state, last)


def started_last(state: AckState, query_id: str) -> Stream | None:
    """Return the micro-batch that a query started last; None if it is not stored."""
    return next((stream for stream in state.streams if stream.query_id == query_id), None)


def _with_stream(state: AckState, started: Stream) -> AckState:
    others = [stream for stream in state.streams if stream.query_id != started.query_id]
    kept = sorted([*others, started], key=lambda stream: stream.lease_id)[-MAX_STREAMS:]
    return replace(state, streams=tuple(kept))


def _leased(state: AckState, stream: Stream) -> list[Span]:
    return spans_within(state.of_lease(stream.lease_id, State.LEASED), stream.positions)


def _leased_again(
    state: AckState, stream: Stream, not_leased: Positions, until: datetime
) -> AckState:
    """Lease messages without a lease to a micro-batch again, and extend its lease."""
    spans: list[Span] = []
    for span in state.spans:
        if span.state is State.LEASED and span.lease_id == stream.lease_id:
            mine = span.positions & stream.positions
        else:
            mine = span.positions & not_leased if span.state in _NOT_LEASED else Positions()
        taken = replace(span.only(mine), state=State.LEASED, lease_id=stream.lease_id, until=until)
        spans += [span.without(mine), taken]
    return with_spans(state, spans)


def _leasable_again(state: AckState, stream: Stream, terms: Terms) -> Positions:
    """Return the messages of a micro-batch without a lease that can be leased to it again.

    Exhausted messages cannot. With ordering, nor can messages of a key if others of it are leased
    or exhausted, or earlier ones wait.
    """
    mine = [
        part
        for span in state.in_state(*_NOT_LEASED)
        if not is_exhausted(span.released(), terms.subscription)
        and (part := span.only(stream.positions))
    ]
    free = union(mine)
    if not free or not terms.subscription.enable_message_ordering:
        return free
    held = [s for s in state.in_state(State.LEASED) if s.lease_id != stream.lease_id]
    held += [s for s in state.spans if is_exhausted(s, terms.subscription)]
    waiting = state.in_state(*_NOT_LEASED)
    earlier = [s.only(s.positions.within(0, free.max) - free) for s in waiting]
    if held:
        free -= terms.keys.of_same_keys(held, mine)
    earlier = [span for span in earlier if span]
    if earlier:
        free -= terms.keys.followers(earlier, mine)
    return free
