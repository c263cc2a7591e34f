"""The methods of PubSub that show stored messages and states; they lease and write nothing."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pubsub_delta.delivery.surveys import AckStateSurvey
from pubsub_delta.methods.store import Store
from pubsub_delta.operations import find, history, publish, read, survey, views
from pubsub_delta.policy.arguments import check_switch
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.policy.metrics import SubscriptionMetrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def read_topic(
    self: Store, topic: str, *, as_of: int | datetime | str | None = None, typed: bool = False
) -> DataFrame:
    """Return the stored messages of a topic: message_id and the message's columns.

    ``as_of``: the topic as of a version or a time. An int is a version of the Delta table. A time
    is one of the store's clock: it selects the messages with a publish time until then, as stored
    before the first later publish. The history reaches back 8 days, or as far as
    ``maintain(log_retention=...)`` has kept it.

    ``typed``: adds the fields of the messages as columns, by the newest revision that the topic
    accepts. Each message is read by the revision that it was published under. If its data does not
    fit, its fields are null, and ``schema_error`` says why. FailedPrecondition without a schema;
    NotFound without the topic; InvalidArgument for another ``as_of`` than a time or a version.
    """
    check_switch(typed, "typed")
    return read.read_topic(self._tables, self._topic(topic), as_of, typed=typed)


def check_messages(self: Store, messages: DataFrame, topic: str | None = None) -> DataFrame:
    """Return the rows of a DataFrame with a column ``why``: why ``publish`` would refuse them.

    It is null for a message that ``publish`` takes. The columns of messages are those of
    ``publish``; others are kept. Without a topic the rules of all topics count, with one also its
    schema as it is now. NotFound without that topic; FailedPrecondition if its schema was deleted.
    """
    found = None if topic is None else self._tables.topic(self._topic(topic))
    return publish.check_messages(self._tables, found, messages)


def topic_history(self: Store, topic: str, limit: int | None = None) -> list[history.TopicCommit]:
    """Return the last ``limit`` commits of a topic, newest first, with their message counts.

    None returns all commits that the log has: those of the last 8 days at least, unless
    ``maintain(log_retention=...)`` kept fewer.
    """
    return history.topic_history(self._tables, self._topic(topic), limit)


def backlog(self: Store, subscription: str) -> DataFrame:
    """Return the unacknowledged messages of a subscription, without leasing them.

    Columns: message_id and the message's columns, ``state`` (available, leased, backing_off,
    forwarding or writing), and ``delivery_attempt``, the present or next one. A message that waits
    to be forwarded has one more than ``max_delivery_attempts``.
    """
    return read.backlog(self._tables, self._subscription(subscription), self._clock.now())


def peek(
    self: Store, subscription: str, max_messages: int = 25, *, max_bytes: int = 4096
) -> list[survey.PeekedMessage]:
    """Return the first unacknowledged messages in the order of receipt, without leasing them.

    Leased messages, and those in backoff, are among them. ``max_bytes``: the most bytes of data to
    return of each message. InvalidArgument for a negative number.
    """
    name = self._subscription(subscription)
    return survey.peek(self._tables, name, max_messages, max_bytes, self._clock.now())


def find_messages(self: Store, name: str, query: MessageQuery | None = None) -> find.MessageSearch:
    """Return a search among the messages that a topic stores, or of a subscription's topic.

    ``name``: full, ``projects/p/topics/t`` or ``projects/p/subscriptions/s``. The search leases and
    writes nothing, and reads only when it is iterated.
    """
    query = MessageQuery() if query is None else query
    return find.search(self._tables, name, query, self._project, self._clock.now())


def survey_ack_state(self: Store, subscription: str) -> AckStateSurvey:
    """Return the spans of a subscription's ack state, for a chart.

    There are at most some 1,500 spans, for any number of messages.
    """
    return survey.ack_state(self._tables, self._subscription(subscription), self._clock.now())


def subscription_history(
    self: Store, subscription: str, points: int = 30
) -> list[survey.SubscriptionMoment]:
    """Return the metrics of a subscription over time, the earliest first.

    Each commit of the ack state's table that is kept is a point; of many commits about ``points``
    are read. The last point is now. For a busy subscription the points reach back some minutes.
    """
    name = self._subscription(subscription)
    return survey.over_time(self._tables, name, points, self._clock.now())


def subscription_metrics(self: Store, subscription: str) -> SubscriptionMetrics:
    """Return the present metrics of a subscription, without sizes in bytes.

    They are those of ``metrics``, and faster for many subscriptions.
    """
    name = self._subscription(subscription)
    return survey.subscription_metrics(self._tables, name, self._clock.now())


def topic_metrics(self: Store, topic: str) -> survey.TopicMetrics:
    """Return how much a topic stores and how fast it grows, from its log."""
    return survey.topic_metrics(self._tables, self._topic(topic), self._clock.now())


def messages_by_day(self: Store, topic: str) -> list[survey.DayCount]:
    """Return the number of stored messages of a topic by day of publishing, in UTC."""
    return survey.messages_by_day(self._tables, self._topic(topic))


def create_views(
    self: Store, schema: str | None = None, *, temporary: bool | None = None, prefix: str = ""
) -> views.ViewsReport:
    """Create a view of each topic, and of each subscription's backlog, under plain names.

    ``orders`` has the messages of a topic, ``orders_billing_backlog`` the unacknowledged messages
    of a subscription. A later call updates them: it drops the views of deleted resources, and
    replaces those of resources that were created again. It never changes other tables and views;
    the report names those that have a name of its own views.

    A view of a backlog shows it as of this call, with that time as ``as_of``.

    Args:
        schema: the schema of the views; by default the store's. The views of a store under a path
            are temporary without one.
        temporary: True for views of this session, also for a store in a catalog.
        prefix: the beginning of all names.
    """
    if temporary is not None:
        check_switch(temporary, "temporary")
    return views.create_views(
        self._tables, self._project, self._clock.now(), schema, prefix, temporary=temporary
    )
