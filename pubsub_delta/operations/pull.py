"""Pull: lease what is available, and say where to read it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from pubsub_delta.delivery.consuming import Given, Say, Take, commit, nothing_said
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.sources import Source, source
from pubsub_delta.delivery.table_writes import cannot_pull
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay, streams
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse, apply
from pubsub_delta.policy.ack_state import AckState, Span
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.fields import check_max_messages
from pubsub_delta.tables.store import Tables

T = TypeVar("T")


def pull(
    tables: Tables, name: ResourceName, max_messages: int | None, now: datetime
) -> Lease | None:
    """Lease up to ``max_messages`` messages, what failed last; None where none is available.

    One commit; usually nothing is written where nothing is available. Messages that have had their
    last delivery attempt are forwarded to the dead-letter topic on the way.
    """
    check_max_messages(max_messages)

    def take(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return delivery.lease(state, max_messages, terms, now)

    return _commit(tables, name, now, take)[0].lease


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
) -> Given:
    """Lease messages to a micro-batch, and acknowledge the one before it, in one commit.

    A micro-batch that is run again is given the messages it had, as far as nobody spoke for them.
    ``max_messages``: 0 for acknowledging only. ``below``: where the positions end of what is
    wanted. ``uid``: of the subscription that the query consumes.
    """

    def say(state: AckState, terms: Terms) -> tuple[AckState, None]:
        return streams.finish_before(state, query_id, batch_id, terms, now), None

    def take(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return streams.begin(state, query_id, batch_id, max_messages, terms, now, below)

    return _commit(tables, name, now, take, say, uid=uid, leases=max_messages != 0)[0]


def resume_micro_batch(
    tables: Tables, name: ResourceName, query_id: str, batch_id: int, now: datetime, *, uid: str
) -> Given:
    """Lease to a micro-batch that was started before what it had; nothing where it is forgotten."""

    def take(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return streams.resume(state, query_id, batch_id, terms, now)

    return _commit(tables, name, now, take, uid=uid)[0]


def newest_position(tables: Tables, name: ResourceName, now: datetime) -> int:
    """Return the position below which all stands that a subscription has by now; nothing written.

    The messages are those that are there when it is asked.
    """
    found = source(tables, name)
    return found.catch_up(tables.ack_states.read(found.uid), now).absorbed_below


def finish_micro_batch(
    tables: Tables, name: ResourceName, query_id: str, batch_id: int, now: datetime, *, uid: str
) -> None:
    """Acknowledge a micro-batch that is processed, before the next one comes."""

    def decide(source: Source, state: AckState) -> AckState:
        return streams.finish_before(state, query_id, batch_id + 1, source.terms, now)

    _change(tables, name, uid, now, decide)


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
    """Give back the messages of a micro-batch that was not processed."""

    def decide(source: Source, state: AckState) -> AckState:
        return streams.give_back(state, query_id, batch_id, source.terms, now, failed=failed)

    _change(tables, name, uid, now, decide)


def _change(
    tables: Tables,
    name: ResourceName,
    uid: str,
    now: datetime,
    decide: Callable[[Source, AckState], AckState],
) -> None:
    found = source(tables, name, uid)

    def change(state: AckState) -> tuple[AckState, None]:
        following = decide(found, state)
        return replay.used(state, following, found.subscription, now), None

    tables.ack_states.change(found.uid, change)


def exchange(
    tables: Tables,
    name: ResourceName,
    turn: AckRequest,
    max_messages: int,
    now: datetime,
    deadline: timedelta | None = None,
    *,
    uid: str,
    forward: bool = True,
) -> tuple[Lease | None, AckResponse]:
    """Say what became of messages and lease up to ``max_messages`` more (0: none), in one commit.

    Pub/Sub: a request of StreamingPull, and the response to it. ``deadline``: how long the lease
    is, if not the subscription's ack deadline. ``uid``: of the subscription that gave the messages.
    ``forward``: whether exhausted messages go to the dead-letter topic; if not, it is as if there
    were none (Pub/Sub: without the permission to forward, no delivery attempts are counted).
    """

    def say(state: AckState, terms: Terms) -> tuple[AckState, AckResponse]:
        return apply(state, turn, terms, now)

    def take(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return delivery.lease(state, max_messages, terms, now, deadline)

    given, answer = _commit(
        tables,
        name,
        now,
        take,
        say,
        uid=uid,
        forward=forward,
        leases=max_messages > 0,
    )
    return given.lease, answer or AckResponse()


def _commit(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    take: Take,
    say: Say[T] = nothing_said,
    *,
    uid: str | None = None,
    forward: bool = True,
    leases: bool = True,
) -> tuple[Given, T | None]:
    """Say what became of messages, and take others, unless they are written to a table."""
    ahead = partial(tables.looking_ahead, name)
    with ahead():
        asking = source(tables, name, uid)
        if not forward:
            asking = asking.without_dead_letters()
        if leases and asking.subscription.table_config is not None:
            raise cannot_pull(asking.subscription)
        return commit(tables, asking, now, take, say, ahead, forward=forward)
