"""Pull: lease what is available, and say where to read it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.errors import DeadLetterWarning
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay
from pubsub_delta.policy.ack_state import AckState, Span, State, union
from pubsub_delta.policy.fields import check_max_messages
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables import dead_letters
from pubsub_delta.tables.columns import ack_id, value_of_span
from pubsub_delta.tables.ordering import in_key_order
from pubsub_delta.tables.store import Source, Tables


@dataclass(frozen=True)
class Lease:
    """What one pull was given: which messages, until when, and under which number."""

    lease_id: int
    positions: Positions
    until: datetime
    df: DataFrame


@dataclass(frozen=True)
class _Taken:
    leased: Sequence[Span]
    version: int
    forwarding: bool
    problem: str | None


def pull(
    tables: Tables, name: ResourceName, max_messages: int | None, now: datetime
) -> Lease | None:
    """Lease up to ``max_messages`` messages, the oldest first; None where none is available.

    One MERGE; usually nothing is written where nothing is available. Messages that have had their
    last delivery attempt are forwarded to the dead-letter topic on the way.
    """
    check_max_messages(max_messages)
    source = tables.source(name)

    def decide(state: AckState) -> tuple[AckState, _Taken]:
        current = source.catch_up(state, now)
        current, problem = dead_letters.decide_forwarding(tables, source, current)
        following, leased = delivery.lease(current, max_messages, source.terms, now)
        forwarding = bool(following.in_state(State.FORWARDING))
        taken = _Taken(leased, source.messages.newest_version(), forwarding, problem)
        keep = leased or forwarding or _was_dear(source, state, following)
        following = following if keep else state
        return replay.used(state, following, source.subscription, now), taken

    taken = tables.ack_states.change(source.uid, decide)
    problem = taken.problem
    if taken.forwarding:
        problem = dead_letters.forward(tables, source, now).problem or problem
    if problem:
        warnings.warn(problem, DeadLetterWarning, stacklevel=3)
    return _lease(source, taken) if taken.leased else None


def _was_dear(source: Source, before: AckState, after: AckState) -> bool:
    """Tell whether finding out what is new took a scan that the next pull should not repeat."""
    scans = bool(source.subscription.filter or before.floor)
    if before.seeks or (scans and after.after_version != before.after_version):
        return True
    return source.subscription.enable_message_ordering and after.spans != before.spans


def _lease(source: Source, taken: _Taken) -> Lease:
    lease_id, until = taken.leased[0].lease_id, taken.leased[0].until
    assert lease_id is not None
    assert until is not None
    frame = _delivered(source, taken.leased, taken.version, lease_id)
    return Lease(lease_id, union(taken.leased), until, frame)


def _delivered(source: Source, leased: Sequence[Span], version: int, lease_id: int) -> DataFrame:
    """Return the lazy DataFrame of a lease: ids are computed only where they are selected."""
    rows = source.messages.read(leased, version)
    position = F.col("position")
    attempt = F.lit(None).cast("int")
    if source.subscription.dead_letter_policy is not None:
        attempt = value_of_span([span.delivery_attempt for span in leased])
    if source.subscription.enable_message_ordering:
        rows = in_key_order(rows, position)
    return rows.select(
        ack_id(source.uid, lease_id, position).alias("ack_id"),
        position.cast("string").alias("message_id"),
        "publish_time",
        "data",
        "attributes",
        "ordering_key",
        attempt.alias("delivery_attempt"),
    )
