"""The methods of PubSub that run until they are stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from pubsub_delta.clock import SystemClock
from pubsub_delta.durations import Duration, parse_duration_from_zero
from pubsub_delta.methods.store import Store
from pubsub_delta.operations import publish, read
from pubsub_delta.resources import BatchSettings, FlowControl, Message, PublishFlowControl
from pubsub_delta.tables.lanes.retries import repeat_in_time

if TYPE_CHECKING:  # imported in each method: most programs use one of them, or none
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from pubsub_delta.callbacks import PulledMessage
    from pubsub_delta.publisher import Publisher
    from pubsub_delta.streaming import Process, Trigger
    from pubsub_delta.subscriber import StreamingPull

logger = logging.getLogger("pubsub_delta")

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
    """Call a function with every message, in worker threads, until the future is cancelled.

    ``callback`` calls ``message.ack()`` or ``message.nack()``; an exception in it is logged and
    nacks the message. The subscriber extends leases meanwhile, and writes acks and nacks in one
    commit a second at most. With ordering, callbacks of one key run one after the other. The future
    that is returned ends with the error of the StreamingPull, or when it is cancelled. NotFound,
    FailedPrecondition if the subscription cannot be pulled from.

    Args:
        subscription: id or full name.
        callback: called as ``callback(message)``.
        flow_control: the most outstanding messages and bytes, and the longest lease.
        max_workers: the number of worker threads.
    """
    from pubsub_delta.delivery.table_writes import cannot_pull
    from pubsub_delta.operations.exchange import StoreChannel
    from pubsub_delta.subscriber import StreamingPull

    name = self._subscription(subscription)
    found, _ = self._tables.attached(name)
    if found.table_config is not None:
        raise cannot_pull(found)
    return StreamingPull(
        StoreChannel(self._tables, name, found.uid, self._clock.now),
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
    total_timeout: Duration = "60s",
) -> Publisher:
    """Return a publisher of single messages, for many threads.

    It commits them in batches; each ``publish`` returns a future of the message id. Beyond the
    limits of ``flow_control`` a ``publish`` waits, unless ``limit_exceeded_behavior`` says
    otherwise. A commit that wrote nothing, as the storage was away or other writers were faster, is
    made again for ``total_timeout``, and a warning is logged each time. NotFound without the topic.
    """
    from pubsub_delta.publisher import Publisher

    name, most = self._topic(topic), parse_duration_from_zero(total_timeout, "total_timeout")
    self._tables.topic(name)

    def commit(batch: Sequence[Message]) -> Sequence[str]:
        found, now = self._tables.topic(name), self._clock.now()
        return list(publish.publish(self._tables, found, batch, now, None).message_ids)

    def warn(error: BaseException) -> None:
        logger.warning("%s: messages were not published, and are tried again: %s", name, error)

    return Publisher(
        lambda batch: repeat_in_time(partial(commit, batch), most, warn),
        batch_settings,
        flow_control,
    )


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
    columns of ``PulledBatch.df``. The commit that pulls the next micro-batch acknowledges this one.
    While ``process`` runs its lease is extended. An exception in it gives the messages back and
    ends the query. A query that is started again, with the same ``checkpoint_location``, gets its
    last micro-batch again with the same messages, except those that another consumer has leased
    since. An idempotent write (Delta's ``txnAppId`` and ``txnVersion=batch_id``) has its effect
    once. ``process`` is called only with messages. It can acknowledge or nack single messages by
    their ``ack_id``.

    Args:
        subscription: id or full name.
        process: called as ``process(df, batch_id)``.
        checkpoint_location: a directory or URL that belongs to this query alone.
        trigger: ``{"processingTime": "10 seconds"}``; by default each second. With
            ``{"availableNow": True}`` the query ends when all messages that were available are
            processed.
        max_messages: the most messages in a micro-batch; None for all that are available.

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
    prepare: publish.Prepare | None = None,
) -> StreamingQuery:
    """Start a query that publishes a streaming DataFrame, each micro-batch exactly once.

    Its columns, and ``order_by``, are those of ``publish``. A micro-batch is one commit whose
    idempotency id is the query's id and its own number, so a query that starts again after a crash
    does not publish it twice. A bad message ends the query with an error that names the rule and
    the number of offending rows; nothing of its micro-batch is published.

    ``prepare``: called as ``prepare(df, batch_id)`` with the rows of a micro-batch before it is
    published, and unless it has landed before. It returns the messages; the streaming DataFrame may
    have any columns then. What it does besides is done again if the query ends before it publishes.
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
        prepare,
    )


def read_topic_stream(
    self: Store, topic: str, *, start: int | datetime | str | None = None
) -> DataFrame:
    """Return a streaming DataFrame of a topic's messages, without a subscription.

    Columns: message_id STRING, publish_time TIMESTAMP, data BINARY, attributes
    ``MAP<STRING,STRING>``, ordering_key STRING. It leases nothing. ``start``: a version of the
    topic's table, or a time (aware datetime, or RFC 3339 text): the stream begins with the messages
    published then or later. By default it begins with all stored messages.
    """
    now = SystemClock().now  # the store's clock is not that of Delta's files
    return read.read_topic_stream(self._tables, self._topic(topic), start, now)
