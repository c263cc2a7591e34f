"""Metrics under Google's names."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.clock import read_time
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.names import ResourceName, snapshot_name, subscription_name, topic_name
from pubsub_delta.policy import retention
from pubsub_delta.policy.ack_state import Captured, State
from pubsub_delta.resources import Snapshot, Topic
from pubsub_delta.tables.columns import instant, value_of_span
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.schemas import EMPTY_BACKLOG, MESSAGE_COLUMNS
from pubsub_delta.tables.store import Source, Tables


def metrics(tables: Tables, name: str, project: str, now: datetime) -> dict[str, Any]:
    """Return the metrics of a subscription, topic or snapshot, by full name or short id."""
    kind = name.split("/")[2] if name.count("/") == 3 else ""
    if kind in ("", "subscriptions"):
        source = tables.find_source(subscription_name(name, project))
        if source is not None:
            return subscription_metrics(tables, source, now)
    if kind in ("", "topics"):
        topic = tables.registry.topic(str(topic_name(name, project)))
        if topic is not None:
            return topic_metrics(tables, topic, now)
    if kind in ("", "snapshots"):
        found = tables.registry.captured(str(snapshot_name(name, project)), now)
        if found is not None:
            return snapshot_metrics(tables, *found, now)
    if kind not in ("", "subscriptions", "topics", "snapshots"):
        subscription_name(name, project)  # says what a full name is
    raise NotFound(f"{name!r}: no subscription, topic or snapshot of that name exists")


def topic_metrics(tables: Tables, topic: Topic, now: datetime) -> dict[str, Any]:
    """Return the metrics of a topic.

    ``message_count``: messages that are stored now. ``num_retained_messages``: those that the
    topic's own retention covers. ``oldest_retained_message_age``: in seconds, 0 without any.
    """
    messages = tables.messages(topic.uid)
    covered = retention.covered_from(topic, now)
    retained, oldest = messages.count_since(covered) if covered is not None else (0, None)
    return {
        "message_count": messages.count(),
        "num_retained_messages": retained,
        "oldest_retained_message_age": _age(oldest, now),
    }


def snapshot_metrics(
    tables: Tables, snapshot: Snapshot, topic_uid: str, captured: Captured, now: datetime
) -> dict[str, Any]:
    """Return the metrics of a snapshot.

    ``num_messages``: those that a seek would bring back now, the ones published since included.
    ``oldest_message_age``: in seconds, 0 without any. ``expire_time``.
    """
    messages = tables.messages(topic_uid)
    commits, known = messages.history.commits_after(captured.after_version)
    after, floor = captured.after_version, captured.floor
    following = messages.absorb(after, commits, known, earliest=floor)
    times = [span.publish_time_min for span in captured.spans]
    times += [part.publish_time_min for part in following]
    held = sum(map(len, captured.spans)) + sum(len(part.positions) for part in following)
    return {
        "num_messages": held,
        "oldest_message_age": _age(min(times, default=None), now),
        "expire_time": snapshot.expire_time,
    }


def subscription_metrics(tables: Tables, source: Source, now: datetime) -> dict[str, Any]:
    """Return the metrics of a subscription at this moment; nothing is written.

    ``num_undelivered_messages``: unacknowledged ones, leased or not.
    ``num_outstanding_messages``: those whose lease is live.
    ``oldest_unacked_message_age``: seconds since the oldest was published, 0 where there is none.
    It is exact but for a partly acknowledged publish, whose earliest message it may still mean.
    ``ack_message_count``: ids that were ever acknowledged, by outcome.
    ``dead_letter_message_count``: messages that were ever forwarded.
    ``num_retained_acked_messages``: acknowledged ones that a seek to a time may bring back;
    ``oldest_retained_acked_message_age``: seconds since the oldest of them was published.
    """
    state = tables.ack_states.read(source.uid)
    counters = state.counters
    if source.subscription.detached:
        state = replace(state, spans=())
    else:
        state = source.catch_up(state, now)
        state = source.clip_retained(state, now)
    retained = state.in_state(State.RETAINED)
    oldest_retained = min((span.publish_time_min for span in retained), default=None)
    oldest = min((span.publish_time_min for span in state.unacked()), default=None)
    return {
        "num_undelivered_messages": state.count(),
        "num_outstanding_messages": state.count(State.LEASED),
        "oldest_unacked_message_age": _age(oldest, now),
        "ack_message_count": {
            "success": counters.success,
            "expired": counters.expired,
            "invalid": counters.invalid,
        },
        "dead_letter_message_count": counters.dead_letters,
        "num_retained_acked_messages": sum(map(len, retained)),
        "oldest_retained_acked_message_age": _age(oldest_retained, now),
    }


def _age(oldest: datetime | None, now: datetime) -> float:
    return 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())


def backlog(tables: Tables, name: ResourceName, now: datetime) -> DataFrame:
    """Return the unacknowledged messages with their state and attempt; nothing is leased.

    A message that waits for an earlier one of its ordering key is ``available``.
    """
    source = tables.source(name)
    state = source.catch_up(tables.ack_states.read(source.uid), now)
    spans = state.unacked()
    if not spans:
        return tables.spark.createDataFrame([], EMPTY_BACKLOG)
    rows = source.messages.read(spans, source.messages.history.newest_version())
    attempt = F.lit(None).cast("int")
    if source.subscription.dead_letter_policy is not None:
        attempt = value_of_span([span.delivery_attempt for span in spans])
    return rows.select(
        F.col("position").cast("string").alias("message_id"),
        *MESSAGE_COLUMNS,
        value_of_span([span.state.value for span in spans]).alias("state"),
        attempt.alias("delivery_attempt"),
    )


def read_topic(tables: Tables, name: ResourceName, as_of: int | datetime | str | None) -> DataFrame:
    """Return the messages of a topic that are stored now, or were at a version or a time."""
    messages = tables.messages(tables.topic(name).uid)
    if as_of is None:
        return messages.everything()
    if isinstance(as_of, (datetime, str)):
        time = read_time(as_of, "as_of")
        stored = messages.as_of(messages.history.version_at(time))
        return stored.where(F.col("publish_time") <= instant(time))
    return messages.as_of(_version(messages, as_of, "as_of"))


def read_topic_stream(
    tables: Tables, name: ResourceName, start: int | datetime | str | None
) -> DataFrame:
    """Return the messages of a topic as a streaming DataFrame, from a version or a time on."""
    messages = tables.messages(tables.topic(name).uid)
    if start is None:
        return messages.stream()
    if isinstance(start, (datetime, str)):
        return messages.stream_since(read_time(start, "start"))
    return messages.stream(_version(messages, start, "start"))


def _version(messages: Messages, given: object, field: str) -> int:
    newest = messages.history.version()
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= newest:
        return given
    raise InvalidArgument(f"{field}: {given!r} is neither a time nor a version from 0 to {newest}")
