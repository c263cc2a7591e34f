"""The commit of a consumer: applies an ack request and leases messages, in one change.

The commit also brings the ack state up to date, forwards exhausted messages to the dead-letter
topic, and completes writes to the subscription's table that were decided before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar

from pubsub_delta.delivery import dead_letters, table_writes
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.sources import Source, source
from pubsub_delta.errors import DeadLetterWarning, first_line
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.store import Tables

T = TypeVar("T")


@dataclass(frozen=True)
class CommitResult:
    """The lease of a commit, if it has one, the ack state after it, and the subscription as it is.

    ``written``: messages whose write to a table was completed.
    """

    lease: Lease | None
    state: AckState
    subscription: Subscription
    written: table_writes.Finished = field(default_factory=table_writes.Finished)


LeaseRule = Callable[[AckState, Terms], "tuple[AckState, list[Span]]"]
"""Leases messages of a state; returns the next state, and the leased messages."""
RequestRule = Callable[[AckState, Terms], "tuple[AckState, T | None]"]
"""Applies an ack request to a state; returns the next state, and the outcomes."""
Prefetching = Callable[[], AbstractContextManager[None]]


def no_request(state: AckState, _: Terms) -> tuple[AckState, None]:
    """Apply no ack request."""
    return state, None


MayForward = Callable[[Subscription], bool]
"""Tells whether the dead letters of a subscription may be forwarded."""


def always(_: Subscription) -> bool:
    """Forward the dead letters of any subscription."""
    return True


def _lease_nothing(state: AckState, _: Terms) -> tuple[AckState, list[Span]]:
    return state, []


def consume(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    lease: LeaseRule,
    apply: RequestRule[T] = no_request,
    *,
    uid: str | None = None,
    may_forward: MayForward = always,
    leases: bool = True,
) -> tuple[CommitResult, T | None]:
    """Make the commit of a consumer.

    Beside a table it applies the request and leases nothing, and FailedPrecondition without one.

    ``uid``: the uid of the subscription that the caller has leased from. ``leases``: whether
    messages are to be leased.
    """
    prefetching = partial(tables.prefetching, name)
    with prefetching():
        found = source(tables, name, uid)
        forward = may_forward(found.subscription)
        if not forward:
            found = found.without_dead_letters()
        if leases and found.subscription.table_config is not None:
            if apply is no_request:
                raise table_writes.cannot_pull(found.subscription)
            lease = _lease_nothing
        return commit(tables, found, now, lease, apply, prefetching, forward=forward)


def commit(
    tables: Tables,
    source: Source,
    now: datetime,
    lease: LeaseRule,
    apply: RequestRule[T] = no_request,
    prefetching: Prefetching = nullcontext,
    *,
    forward: bool = True,
) -> tuple[CommitResult, T | None]:
    """Apply a request, decide which messages are forwarded, and lease others: one commit.

    ``prefetching``: reads the tables that the decision needs, while the ack state is read.
    ``forward``: whether exhausted messages are appended to the dead-letter topic afterwards.
    """

    def decide(state: AckState) -> tuple[AckState, _Decision[T]]:
        current = source.catch_up(state, now)
        applied, outcomes = apply(current, source.terms)
        decided, problem = dead_letters.decide_forwarding(tables, source, applied)
        following, leased = lease(decided, source.terms)
        forwarding = forward and bool(following.in_state(State.FORWARDING))
        changed = applied != current or following != decided
        keep = changed or forwarding or _saves_a_scan(source, state, following)
        following = following if keep else state
        following = replay.note_activity(state, following, source.subscription, now)
        return following, _Decision(leased, forwarding, problem, outcomes, following)

    decision = tables.ack_states.change(source.uid, decide, prefetching)
    problem = decision.problem
    if decision.forwarding:
        try:
            problem = dead_letters.forward(tables, source, now).problem or problem
        except Exception as error:  # what was decided has landed: its lease and its outcomes hold
            name, why = source.subscription.name, first_line(error)
            problem = f"dead letters of {name} are forwarded by its next consumer: {why}"
    if problem:
        warnings.warn(problem, DeadLetterWarning, stacklevel=5)
    written = table_writes.Finished()
    if decision.state.in_state(State.WRITING):
        written = table_writes.finish(tables, source, decision.state)
    leased = Lease(tables.lanes, source, decision.leased) if decision.leased else None
    result = CommitResult(leased, decision.state, source.subscription, written)
    return result, decision.outcomes


@dataclass(frozen=True)
class _Decision(Generic[T]):
    leased: Sequence[Span]
    forwarding: bool
    problem: str | None
    outcomes: T | None
    state: AckState


def _saves_a_scan(source: Source, before: AckState, after: AckState) -> bool:
    """Return whether bringing the state up to date took a scan that the next pull would repeat."""
    scans = bool(source.subscription.filter or before.floor)
    has_moved = after.after_version != before.after_version
    if before.seeks or (scans and has_moved):
        return True
    if has_moved and before.spans and source.has_lost_messages(before.after_version):
        return True
    return source.subscription.enable_message_ordering and after.spans != before.spans
