"""Pull: lease what is available, and say where to read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, Span
from pubsub_delta.policy.fields import check_max_messages
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.columns import ack_id
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.store import Tables


@dataclass(frozen=True)
class Lease:
    """What one pull was given: which messages, until when, and under which number."""

    lease_id: int
    positions: Positions
    until: datetime
    df: DataFrame


def pull(
    tables: Tables, name: ResourceName, max_messages: int | None, now: datetime
) -> Lease | None:
    """Lease up to ``max_messages`` messages, the oldest first; None where none is available.

    One MERGE; nothing is written where nothing is available.
    """
    check_max_messages(max_messages)
    subscription, messages = tables.open_subscription(name)
    deadline = timedelta(seconds=subscription.ack_deadline_seconds)

    def decide(state: AckState) -> tuple[AckState, tuple[Span, int] | None]:
        current = tables.catch_up(state, subscription, messages, now)
        following, leased = delivery.lease(current, max_messages, now, deadline)
        if leased is None:
            return state, None
        return following, (leased, following.after_version)

    taken = tables.ack_states.change(subscription.uid, decide)
    if taken is None:
        return None
    leased, version = taken
    assert leased.lease_id is not None
    assert leased.until is not None
    frame = _delivered(messages, leased, version, subscription.uid)
    return Lease(leased.lease_id, leased.positions, leased.until, frame)


def _delivered(messages: Messages, leased: Span, version: int, uid: str) -> DataFrame:
    """Return the lazy DataFrame of a lease: ids are computed only where they are selected."""
    assert leased.lease_id is not None
    rows = messages.read(
        leased.positions, leased.publish_time_min, leased.publish_time_max, version
    )
    position = F.col("position")
    return rows.select(
        ack_id(uid, leased.lease_id, position).alias("ack_id"),
        position.cast("string").alias("message_id"),
        "publish_time",
        "data",
        "attributes",
        "ordering_key",
        F.lit(None).cast("int").alias("delivery_attempt"),
    )
