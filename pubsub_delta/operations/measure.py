"""Looking in without leasing: the backlog of a subscription, the messages of a topic."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.clock import read_time
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.tables.columns import instant, value_of_span
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.schemas import EMPTY_BACKLOG, MESSAGE_COLUMNS
from pubsub_delta.tables.store import Tables


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
    """Return the messages of a topic that are stored now, or were at a version or a time.

    DataLoss if the newest commit is damaged: Spark would read an emptied one as one of no messages.
    """
    messages = tables.messages(tables.topic(name).uid)
    if as_of is None:
        messages.history.version()
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
