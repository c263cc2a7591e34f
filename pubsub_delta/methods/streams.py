"""The methods of PubSub that go on until they are stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pubsub_delta.methods.store import Store
from pubsub_delta.operations import publish, read
from pubsub_delta.resources import BatchSettings, FlowControl, Message, PublishFlowControl

if TYPE_CHECKING:  # each method imports its own: most programs take one of them, or none
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from pubsub_delta.callbacks import PulledMessage
    from pubsub_delta.publisher import Publisher
    from pubsub_delta.streaming import Process, Trigger
    from pubsub_delta.subscriber import StreamingPull

_FLOW_CONTROL = FlowControl()
_BATCH_SETTINGS = BatchSettings()
_PUBLISH_FLOW_CONTROL = PublishFlowControl()


def subscribe(
    self: Store,
    subscription: str,
    callback: Callable[[PulledMessage], object],
    *,
    flow_control: FlowControl = _FLOW_CONTROL,
    max_workers: int = 4,
) -> StreamingPull:
    """Call a function with every message, in worker threads, until it is cancelled.

    ``callback`` answers with ``message.ack()`` or ``message.nack()``; an error in it is logged
    and nacks. Leases are extended meanwhile. Answers are gathered into one commit a second at
    most. With ordering, the messages of a key are called one after the other.

    Args:
        subscription: id or full name.
        callback: called as ``callback(message)``.
        flow_control: how many messages and bytes are held at a time, and for how long.
        max_workers: how many callbacks run at a time.
    """
    from pubsub_delta.operations.exchange import StoreChannel
    from pubsub_delta.subscriber import StreamingPull

    name = self._subscription(subscription)
    found, _ = self._tables.attached(name)
    return StreamingPull(
        StoreChannel(self._tables, name, found.uid),
        str(name),
        self._clock.now,
        callback,
        flow_control=flow_control,
        max_workers=max_workers,
        ordered=found.enable_message_ordering,
    )


def publisher(
    self: Store,
    topic: str,
    *,
    batch_settings: BatchSettings = _BATCH_SETTINGS,
    flow_control: PublishFlowControl = _PUBLISH_FLOW_CONTROL,
) -> Publisher:
    """Return a publisher for messages that come one by one, from many threads.

    It commits them in batches; each ``publish`` returns a future of the message id. Beyond the
    limits of ``flow_control`` a ``publish`` waits, unless that says otherwise.
    """
    from pubsub_delta.publisher import Publisher

    name = self._topic(topic)
    self._tables.topic(name)

    def commit(batch: Sequence[Message]) -> Sequence[str]:
        found, now = self._tables.topic(name), self._clock.now()
        return list(publish.publish(self._tables, found, batch, now, None).message_ids)

    return Publisher(commit, batch_settings, flow_control)


def subscribe_stream(
    self: Store,
    subscription: str,
    process: Process,
    *,
    checkpoint_location: str,
    trigger: Trigger | None = None,
    max_messages: int | None = None,
) -> StreamingQuery:
    """Start a query that processes a subscription in micro-batches, exactly once in effect.

    Each micro-batch is leased and given to ``process(df, batch_id)``, whose DataFrame has the
    columns of ``PulledBatch.df``. What it returns from is acknowledged with the pull of the
    next micro-batch, in one commit. While it runs the lease is extended. An error in it gives
    the messages back and ends the query. A query that is started again, with the same
    ``checkpoint_location``, gets its last micro-batch again with the same messages, except
    those that went to another consumer when the lease was over: written idempotently (Delta's
    ``txnAppId`` and ``txnVersion=batch_id``) they have their effect once. ``process`` is not
    called without messages. It may acknowledge or nack single messages by their ``ack_id``.

    Args:
        subscription: id or full name.
        process: called as ``process(df, batch_id)``.
        checkpoint_location: a directory or URL that belongs to this query alone.
        trigger: ``{"processingTime": "10 seconds"}``; by default each second. With
            ``{"availableNow": True}`` the query ends when what was available is processed.
        max_messages: at most so many in a micro-batch; None: all that are available.

    The progress of the query (``lastProgress``, listeners) carries the subscription's metrics
    as the micro-batch before left them: ``observedMetrics["pubsub_delta"]``.
    """
    from pubsub_delta import streaming

    return streaming.subscribe_stream(
        self._tables,
        self._subscription(subscription),
        process,
        checkpoint_location,
        trigger,
        max_messages,
        self._clock,
    )


def publish_stream(
    self: Store,
    topic: str,
    streaming_df: DataFrame,
    *,
    checkpoint_location: str,
    trigger: Trigger | None = None,
    order_by: str | None = None,
) -> StreamingQuery:
    """Start a query that publishes a streaming DataFrame, each micro-batch exactly once.

    Its columns, and ``order_by``, are those of ``publish``. A micro-batch is one commit with
    the query's id and its own as idempotency id, so that a query which is started again after
    a crash does not publish it twice. A bad message ends the query with an error that tells the
    rule and the number of offending rows, and nothing of its micro-batch is published.
    """
    from pubsub_delta import streaming

    return streaming.publish_stream(
        self._tables,
        self._topic(topic),
        streaming_df,
        checkpoint_location,
        trigger,
        order_by,
        self._clock,
    )


def read_topic_stream(
    self: Store, topic: str, *, start: int | datetime | str | None = None
) -> DataFrame:
    """Return a streaming DataFrame that follows a topic, for whoever only wants to read along.

    Columns: message_id STRING, publish_time TIMESTAMP, data BINARY, attributes
    ``MAP<STRING,STRING>``, ordering_key STRING. Nothing is leased.

    ``start``: a version of the topic's table, or a time (aware datetime, or RFC 3339 text):
    the messages published then or later. By default everything that is stored comes first.
    """
    return read.read_topic_stream(self._tables, self._topic(topic), start)
