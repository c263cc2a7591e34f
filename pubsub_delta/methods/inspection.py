"""The methods of PubSub that look at what is stored, and lease and write nothing."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pubsub_delta.delivery.surveys import AckStateSurvey
from pubsub_delta.methods.store import Store
from pubsub_delta.operations import find, history, read, survey, views
from pubsub_delta.tables.ack_state.metrics import SubscriptionMetrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def read_topic(
    self: Store, topic: str, *, as_of: int | datetime | str | None = None, typed: bool = False
) -> DataFrame:
    """Return the stored messages of a topic: message_id and the message's columns.

    ``as_of``: as they were stored then. An int is a version of the Delta table. A time is one
    of the store's clock: the messages stamped until then, of the table as it was before the
    first publish with a later stamp. The history reaches back 8 days, or to what
    ``maintain(log_retention=...)`` left.

    ``typed``: with the fields of the messages as further columns, those of the newest revision
    that the topic accepts. Each message is read by the revision that it was published under.
    ``schema_error`` tells why the fields of one are null that cannot be read so.
    FailedPrecondition where the topic has no schema.
    """
    return read.read_topic(self._tables, self._topic(topic), as_of, typed=typed)


def topic_history(self: Store, topic: str, limit: int | None = None) -> list[history.TopicCommit]:
    """Return the last commits of a topic, newest first, with what each published or deleted.

    None means all that are still known: those of the last 8 days at least, unless
    ``maintain(log_retention=...)`` kept fewer.
    """
    return history.topic_history(self._tables, self._topic(topic), limit)


def backlog(self: Store, subscription: str) -> DataFrame:
    """Return the unacknowledged messages of a subscription; nothing is leased or written.

    Columns: message_id and the message's columns, ``state`` (available, leased,
    backing_off, forwarding or writing), and ``delivery_attempt``, the one under way or to come.
    It is one above the permitted ones where the message waits to be forwarded.
    """
    return read.backlog(self._tables, self._subscription(subscription), self._clock.now())


def peek(
    self: Store, subscription: str, max_messages: int = 25, *, max_bytes: int = 4096
) -> list[survey.PeekedMessage]:
    """Return the first unacknowledged messages in the order of receipt; nothing is leased.

    Leased and waiting ones are among them. ``max_bytes``: of the data of each.
    """
    name = self._subscription(subscription)
    return survey.peek(self._tables, name, max_messages, max_bytes, self._clock.now())


def find_messages(
    self: Store, name: str, query: find.MessageQuery | None = None
) -> find.MessageSearch:
    """Return a search among the messages that a topic stores, or of a subscription's topic.

    ``name``: full, ``projects/p/topics/t`` or ``projects/p/subscriptions/s``. Nothing is leased
    or written, and nothing is read before the search is asked for messages.
    """
    query = find.MessageQuery() if query is None else query
    return find.search(self._tables, name, query, self._project, self._clock.now())


def survey_ack_state(self: Store, subscription: str) -> AckStateSurvey:
    """Return the spans that make up the ack state of a subscription, for a chart of it.

    There are at most some 1,500 however many messages there are.
    """
    return survey.ack_state(self._tables, self._subscription(subscription), self._clock.now())


def subscription_history(
    self: Store, subscription: str, points: int = 30
) -> list[survey.SubscriptionMoment]:
    """Return the metrics of a subscription over time, the earliest first.

    Every commit of its ack state that its table still has is such a point; of many, about
    ``points`` are read. The last point is now. For a busy subscription they reach back some
    minutes.
    """
    name = self._subscription(subscription)
    return survey.over_time(self._tables, name, points, self._clock.now())


def subscription_metrics(self: Store, subscription: str) -> SubscriptionMetrics:
    """Return the metrics of a subscription as they are now, without a size in bytes.

    They are those of ``metrics``, for who looks at many subscriptions.
    """
    name = self._subscription(subscription)
    return survey.subscription_metrics(self._tables, name, self._clock.now())


def topic_metrics(self: Store, topic: str) -> survey.TopicMetrics:
    """Return how much a topic stores and how fast it grows, as its log tells it."""
    return survey.topic_metrics(self._tables, self._topic(topic), self._clock.now())


def messages_by_day(self: Store, topic: str) -> list[survey.DayCount]:
    """Return how many of the stored messages of a topic were published on each day, in UTC."""
    return survey.messages_by_day(self._tables, self._topic(topic))


def create_views(
    self: Store, schema: str | None = None, *, temporary: bool | None = None, prefix: str = ""
) -> views.ViewsReport:
    """Create a view of each topic, and of each subscription's backlog, under plain names.

    ``orders`` has the messages of a topic, ``orders_billing_backlog`` what a subscription has
    not acknowledged. Called again, it makes them those of the resources that are there: stale
    views go, and a view whose resource was created anew is of the new one. Tables and views of
    others are never touched; the report names those that were in the way.

    A backlog is shown as it was at this call, with that time as ``as_of``.

    Args:
        schema: where the views are to be; by default that of the store, and for a store under a
            path none, as the views are temporary then.
        temporary: True for views of this session, also of a store in a catalog.
        prefix: what all names are to begin with.
    """
    return views.create_views(
        self._tables, self._project, self._clock.now(), schema, prefix, temporary=temporary
    )
