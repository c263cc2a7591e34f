"""The commit of a consumer: what all that lease messages do besides, in one go.

The ack state is brought up to date, exhausted messages go to the dead-letter topic, and what was on
its way to a table is written there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from pubsub_delta.delivery import dead_letters, table_writes
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.sources import Source
from pubsub_delta.errors import DeadLetterWarning
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.tables.store import Tables

T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """What came of one commit of a consumer: a lease, perhaps, and the ack state that is left.

    ``written``: what became of messages that were on their way to a table.
    """

    lease: Lease | None
    state: AckState
    written: table_writes.Finished = field(default_factory=table_writes.Finished)


Take = Callable[[AckState, Terms], "tuple[AckState, list[Span]]"]
Say = Callable[[AckState, Terms], "tuple[AckState, T | None]"]
Ahead = Callable[[], AbstractContextManager[None]]


def nothing_said(state: AckState, _: Terms) -> tuple[AckState, None]:
    """Say nothing of messages."""
    return state, None


def commit(
    tables: Tables,
    asking: Source,
    now: datetime,
    take: Take,
    say: Say[T] = nothing_said,
    ahead: Ahead = nullcontext,
    *,
    forward: bool = True,
) -> tuple[Given, T | None]:
    """Say what became of messages, see to the dead letters, and take others: one commit.

    ``ahead``: begins to look at what the commit will look at, while the ack state is read.
    ``forward``: whether what is on its way to the dead-letter topic is written there.
    """

    def decide(state: AckState) -> tuple[AckState, _Taken[T]]:
        found = asking.catch_up(state, now)
        heard, said = say(found, asking.terms)
        current, problem = dead_letters.decide_forwarding(tables, asking, heard)
        following, leased = take(current, asking.terms)
        forwarding = forward and bool(following.in_state(State.FORWARDING))
        changed = heard != found or following != current
        keep = changed or forwarding or _was_dear(asking, state, following)
        following = following if keep else state
        following = replay.used(state, following, asking.subscription, now)
        return following, _Taken(leased, forwarding, problem, said, following)

    taken = tables.ack_states.change(asking.uid, decide, ahead)
    problem = taken.problem
    if taken.forwarding:
        problem = dead_letters.forward(tables, asking, now).problem or problem
    if problem:
        warnings.warn(problem, DeadLetterWarning, stacklevel=5)
    written = table_writes.Finished()
    if taken.state.in_state(State.WRITING):
        written = table_writes.finish(tables, asking, taken.state)
    lease = Lease(tables.lanes, asking, taken.leased) if taken.leased else None
    return Given(lease, taken.state, written), taken.said


@dataclass(frozen=True)
class _Taken(Generic[T]):
    leased: Sequence[Span]
    forwarding: bool
    problem: str | None
    said: T | None
    state: AckState


def _was_dear(source: Source, before: AckState, after: AckState) -> bool:
    """Tell whether finding out what is new took a scan that the next pull should not repeat."""
    scans = bool(source.subscription.filter or before.floor)
    has_moved = after.after_version != before.after_version
    if before.seeks or (scans and has_moved):
        return True
    if has_moved and before.spans and source.has_lost_messages(before.after_version):
        return True
    return source.subscription.enable_message_ordering and after.spans != before.spans
