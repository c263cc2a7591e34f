"""Metrics under Google's names."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.errors import NotFound
from pubsub_delta.names import ResourceName, subscription_name, topic_name
from pubsub_delta.policy.ack_state import State
from pubsub_delta.tables.columns import value_of_span
from pubsub_delta.tables.schemas import EMPTY_BACKLOG, MESSAGE_COLUMNS
from pubsub_delta.tables.store import Source, Tables


def metrics(tables: Tables, name: str, project: str, now: datetime) -> dict[str, Any]:
    """Return the metrics of a topic or subscription; a short id means the subscription first."""
    if "/topics/" in name:
        return topic_metrics(tables, topic_name(name, project))
    subscription = subscription_name(name, project)
    source = tables.find_source(subscription)
    if source is not None:
        return subscription_metrics(tables, source, now)
    topic = topic_name(name, project) if "/" not in name else None
    if topic is None or tables.registry.topic(str(topic)) is None:
        raise NotFound(f"{name!r}: neither a subscription nor a topic of that name exists")
    return topic_metrics(tables, topic)


def topic_metrics(tables: Tables, name: ResourceName) -> dict[str, Any]:
    """Return ``message_count``: the messages of a topic that are stored now."""
    return {"message_count": tables.messages(tables.topic(name).uid).count()}


def subscription_metrics(tables: Tables, source: Source, now: datetime) -> dict[str, Any]:
    """Return the metrics of a subscription at this moment; nothing is written.

    ``num_undelivered_messages``: unacknowledged ones, leased or not.
    ``num_outstanding_messages``: those whose lease is live.
    ``oldest_unacked_message_age``: seconds since the oldest was published, 0 where there is none.
    It is exact but for a partly acknowledged publish, whose earliest message it may still mean.
    ``ack_message_count``: ids that were ever acknowledged, by outcome.
    ``dead_letter_message_count``: messages that were ever forwarded.
    """
    state = tables.ack_states.read(source.uid)
    counters = state.counters
    if source.subscription.detached:
        state = replace(state, spans=())
    else:
        state = source.catch_up(state, now)
    oldest = min((span.publish_time_min for span in state.unacked()), default=now)
    return {
        "num_undelivered_messages": state.count(),
        "num_outstanding_messages": state.count(State.LEASED),
        "oldest_unacked_message_age": max(0.0, (now - oldest).total_seconds()),
        "ack_message_count": {
            "success": counters.success,
            "expired": counters.expired,
            "invalid": counters.invalid,
        },
        "dead_letter_message_count": counters.dead_letters,
    }


def backlog(tables: Tables, name: ResourceName, now: datetime) -> DataFrame:
    """Return the unacknowledged messages with their state and attempt; nothing is leased.

    A message that waits for an earlier one of its ordering key is ``available``.
    """
    source = tables.source(name)
    state = source.catch_up(tables.ack_states.read(source.uid), now)
    spans = state.unacked()
    if not spans:
        return tables.spark.createDataFrame([], EMPTY_BACKLOG)
    rows = source.messages.read(spans, state.after_version)
    attempt = F.lit(None).cast("int")
    if source.subscription.dead_letter_policy is not None:
        attempt = value_of_span([span.delivery_attempt for span in spans])
    return rows.select(
        F.col("position").cast("string").alias("message_id"),
        *MESSAGE_COLUMNS,
        value_of_span([span.state.value for span in spans]).alias("state"),
        attempt.alias("delivery_attempt"),
    )
