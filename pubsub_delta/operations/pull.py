"""Pull: lease available messages, for a pull, a micro-batch or a StreamingPull request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from pubsub_delta.delivery.consuming import (
    CommitResult,
    LeaseRule,
    RequestRule,
    commit,
    no_request,
)
from pubsub_delta.delivery.leases import Lease, LeasedMessages
from pubsub_delta.delivery.sources import source
from pubsub_delta.delivery.table_writes import cannot_pull
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay, streams
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse, apply
from pubsub_delta.policy.ack_state import AckState, Span
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.fields import check_max_messages
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.store import Tables

T = TypeVar("T")

MayForward = Callable[[Subscription], bool]
"""Returns whether the server may forward the dead letters of a subscription."""


@dataclass(frozen=True)
class Exchanged:
    """The result of an exchange: perhaps a lease, the response, and the present subscription."""

    leased: LeasedMessages | None
    response: AckResponse
    subscription: Subscription


def always(_: Subscription) -> bool:
    """Forward the dead letters of any subscription."""
    return True


def pull(
    tables: Tables, name: ResourceName, max_messages: int | None, now: datetime
) -> Lease | None:
    """Lease up to ``max_messages`` messages, failed ones last; None if none is available.

    The pull is one commit; usually it writes nothing if no message is available. It also forwards
    messages that have had their last delivery attempt to the dead-letter topic.
    """
    check_max_messages(max_messages)

    def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return delivery.lease(state, max_messages, terms, now)

    return _commit(tables, name, now, lease)[0].lease


def pull_micro_batch(
    tables: Tables,
    name: ResourceName,
    query_id: str,
    batch_id: int,
    max_messages: int | None,
    now: datetime,
    below: int | None = None,
    *,
    uid: str,
) -> CommitResult:
    """Lease messages to a micro-batch, and acknowledge the one before it, in one commit.

    A repeated micro-batch gets the messages it had, except those that were acknowledged or leased
    since. ``max_messages``: 0 leases none. ``below``: only messages with lower positions are
    leased. ``uid``: the uid of the subscription that the query consumes.
    """

    def finish(state: AckState, terms: Terms) -> tuple[AckState, None]:
        return streams.finish_before(state, query_id, batch_id, terms, now), None

    def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return streams.begin(state, query_id, batch_id, max_messages, terms, now, below)

    return _commit(tables, name, now, lease, finish, uid=uid, leases=max_messages != 0)[0]


def resume_micro_batch(
    tables: Tables, name: ResourceName, query_id: str, batch_id: int, now: datetime, *, uid: str
) -> CommitResult:
    """Lease the messages of an earlier micro-batch again; none if its lease is not stored."""

    def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return streams.resume(state, query_id, batch_id, terms, now)

    return _commit(tables, name, now, lease, uid=uid)[0]


def newest_position(tables: Tables, name: ResourceName, now: datetime) -> int:
    """Return the end of the positions that a subscription has by now, without a write."""
    found = source(tables, name)
    return found.catch_up(tables.ack_states.read(found.uid), now).absorbed_below


def finish_micro_batch(
    tables: Tables, name: ResourceName, query_id: str, batch_id: int, now: datetime, *, uid: str
) -> AckState:
    """Acknowledge a processed micro-batch, without leasing another one.

    Return the ack state after it.
    """

    def decide(state: AckState, terms: Terms) -> AckState:
        return streams.finish_before(state, query_id, batch_id + 1, terms, now)

    return _change(tables, name, uid, now, decide)


def give_back_micro_batch(
    tables: Tables,
    name: ResourceName,
    query_id: str,
    batch_id: int,
    now: datetime,
    *,
    failed: bool,
    uid: str,
) -> None:
    """End the lease of a micro-batch that was not processed.

    ``failed``: whether the delivery of its messages failed; otherwise it does not count.
    """

    def decide(state: AckState, terms: Terms) -> AckState:
        return streams.give_back(state, query_id, batch_id, terms, now, failed=failed)

    _change(tables, name, uid, now, decide)


def _change(
    tables: Tables,
    name: ResourceName,
    uid: str,
    now: datetime,
    decide: Callable[[AckState, Terms], AckState],
) -> AckState:
    """Change an ack state without leasing anything; return the new state."""
    found = source(tables, name, uid)

    def change(state: AckState) -> tuple[AckState, AckState]:
        following = decide(state, found.terms)
        following = replay.note_activity(state, following, found.subscription, now)
        return following, following

    return tables.ack_states.change(found.uid, change)


def exchange(
    tables: Tables,
    name: ResourceName,
    request: AckRequest,
    max_messages: int,
    now: datetime,
    deadline: timedelta | None = None,
    *,
    uid: str,
    may_forward: MayForward = always,
) -> Exchanged:
    """Apply an ack request and lease up to ``max_messages`` messages (0: none), in one commit.

    Pub/Sub: a request of StreamingPull, and the response to it. ``deadline``: the length of the
    lease; by default the subscription's ack deadline. ``uid``: the uid of the subscription whose
    leases the request names. ``may_forward``: whether exhausted messages go to the dead-letter
    topic; otherwise no delivery attempts are counted (Pub/Sub: as without the permission to
    forward).
    """

    def apply_request(state: AckState, terms: Terms) -> tuple[AckState, AckResponse]:
        return apply(state, request, terms, now)

    def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return delivery.lease(state, max_messages, terms, now, deadline)

    result, response = _commit(
        tables,
        name,
        now,
        lease,
        apply_request,
        uid=uid,
        may_forward=may_forward,
        leases=max_messages > 0,
    )
    return Exchanged(result.lease, response or AckResponse(), result.subscription)


def _lease_nothing(state: AckState, _: Terms) -> tuple[AckState, list[Span]]:
    return state, []


def _commit(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    lease: LeaseRule,
    apply_request: RequestRule[T] = no_request,
    *,
    uid: str | None = None,
    may_forward: MayForward = always,
    leases: bool = True,
) -> tuple[CommitResult, T | None]:
    """Make the commit of a consumer; FailedPrecondition for a table subscription that leases.

    ``leases``: whether messages may be leased. A request is applied also beside a table.
    """
    prefetching = partial(tables.prefetching, name)
    with prefetching():
        found = source(tables, name, uid)
        forward = may_forward(found.subscription)
        if not forward:
            found = found.without_dead_letters()
        if leases and found.subscription.table_config is not None:
            if apply_request is not no_request:  # what was acknowledged before stays so
                commit(tables, found, now, _lease_nothing, apply_request, forward=forward)
            raise cannot_pull(found.subscription)
        return commit(tables, found, now, lease, apply_request, prefetching, forward=forward)
