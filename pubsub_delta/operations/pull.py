"""Pull: lease available messages, for a pull or a micro-batch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from pubsub_delta.delivery.consuming import CommitResult, consume
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.sources import source
from pubsub_delta.delivery.table_writes import cannot_pull
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay, streams
from pubsub_delta.policy.ack_state import AckState, Span
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.fields import check_max_messages
from pubsub_delta.tables.store import Tables

T = TypeVar("T")


def pull(
    tables: Tables, name: ResourceName, max_messages: int | None, clock: Callable[[], datetime]
) -> Lease | None:
    """Lease up to ``max_messages`` messages, failed ones last; None if none is available.

    The pull is one commit; usually it writes nothing if no message is available. It also forwards
    messages that have had their last delivery attempt to the dead-letter topic.

    ``clock``: returns the time. A lease begins when it is decided: a wait for another process, or
    for the filter's first look at a large topic, can take longer than the ack deadline.
    """
    check_max_messages(max_messages)

    def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return delivery.lease(state, max_messages, terms, clock())

    return consume(tables, name, clock(), lease)[0].lease


def pull_micro_batch(
    tables: Tables,
    name: ResourceName,
    query_id: str,
    batch_id: int,
    max_messages: int | None,
    clock: Callable[[], datetime],
    below: int | None = None,
    *,
    repeated: bool = False,
    uid: str,
) -> CommitResult:
    """Lease messages to a micro-batch, and acknowledge the one before it, in one commit.

    A repeated micro-batch gets the messages it had, except those that were acknowledged or leased
    since. ``repeated``: whether it surely is one; if its lease is not stored it gets none.
    ``max_messages``: 0 leases none. ``clock``: returns the time; the lease begins when it is
    decided, as that of a pull does. ``below``: only messages with lower positions are leased.
    ``uid``: the uid of the subscription that the query consumes. FailedPrecondition for a table
    subscription; the micro-batch before is acknowledged all the same.
    """

    def finish(state: AckState, terms: Terms) -> tuple[AckState, None]:
        return streams.finish_before(state, query_id, batch_id, terms, clock()), None

    def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        if repeated:
            return streams.resume(state, query_id, batch_id, terms, clock())
        return streams.begin(state, query_id, batch_id, max_messages, terms, clock(), below)

    leases = max_messages != 0
    result, _ = consume(tables, name, clock(), lease, finish, uid=uid, leases=leases)
    if leases and result.subscription.table_config is not None:
        raise cannot_pull(result.subscription)
    return result


def resume_micro_batch(
    tables: Tables,
    name: ResourceName,
    query_id: str,
    batch_id: int,
    clock: Callable[[], datetime],
    *,
    uid: str,
) -> CommitResult:
    """Lease the messages of an earlier micro-batch again; none if its lease is not stored."""

    def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
        return streams.resume(state, query_id, batch_id, terms, clock())

    return consume(tables, name, clock(), lease, uid=uid)[0]


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

    def step(state: AckState) -> AckState:
        following = decide(state, found.terms)
        return replay.note_activity(state, following, found.subscription, now)

    return tables.ack_states.update(found.uid, step)
