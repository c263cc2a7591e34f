"""Metrics under Google's names."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pubsub_delta.errors import NotFound
from pubsub_delta.names import ResourceName, subscription_name, topic_name
from pubsub_delta.policy.ack_state import State
from pubsub_delta.tables.store import Tables


def metrics(tables: Tables, name: str, project: str, now: datetime) -> dict[str, Any]:
    """Return the metrics of a topic or subscription; a short id means the subscription first."""
    if "/topics/" in name:
        return topic_metrics(tables, topic_name(name, project))
    subscription = subscription_name(name, project)
    if tables.registry.source(str(subscription)) is not None:
        return subscription_metrics(tables, subscription, now)
    topic = topic_name(name, project) if "/" not in name else None
    if topic is None or tables.registry.topic(str(topic)) is None:
        raise NotFound(f"{name!r}: neither a subscription nor a topic of that name exists")
    return topic_metrics(tables, topic)


def topic_metrics(tables: Tables, name: ResourceName) -> dict[str, Any]:
    """Return ``message_count``: the messages of a topic that are stored now."""
    return {"message_count": tables.messages(tables.topic(name).uid).count()}


def subscription_metrics(tables: Tables, name: ResourceName, now: datetime) -> dict[str, Any]:
    """Return the metrics of a subscription at this moment; nothing is written.

    ``num_undelivered_messages``: unacknowledged ones, leased or not.
    ``num_outstanding_messages``: those whose lease is live.
    ``oldest_unacked_message_age``: seconds since the oldest was published, 0 where there is none.
    It is exact but for a partly acknowledged publish, whose earliest message it may still mean.
    """
    subscription = tables.subscription(name)
    if subscription.detached:
        return _told(0, 0, None, now)
    subscription, messages = tables.open_subscription(name)
    state = tables.ack_states.read(subscription.uid)
    state = tables.catch_up(state, subscription, messages, now)
    oldest = min((span.publish_time_min for span in state.spans), default=None)
    return _told(state.count(), state.count(State.LEASED), oldest, now)


def _told(
    undelivered: int, outstanding: int, oldest: datetime | None, now: datetime
) -> dict[str, Any]:
    age = 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())
    return {
        "num_undelivered_messages": undelivered,
        "num_outstanding_messages": outstanding,
        "oldest_unacked_message_age": age,
    }
