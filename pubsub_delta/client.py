"""PubSub: the one object that users hold. It only delegates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pubsub_delta.batches import PulledBatch
from pubsub_delta.clock import Clock, SystemClock
from pubsub_delta.durations import Duration
from pubsub_delta.names import (
    ResourceName,
    check_project,
    subscription_name,
    topic_name,
)
from pubsub_delta.operations import acknowledge, administer, maintain, measure, publish, pull
from pubsub_delta.operations.acknowledge import Named
from pubsub_delta.policy.fields import refuse_topic_retention, refuse_unsupported
from pubsub_delta.resources import (
    AckResult,
    DeadLetterPolicy,
    Message,
    Page,
    RetryPolicy,
    Subscription,
    Topic,
)
from pubsub_delta.session import check_session
from pubsub_delta.tables.schemas import EMPTY_BATCH
from pubsub_delta.tables.store import Tables


class PubSub:
    """A message store under one root, with Google Cloud Pub/Sub's semantics.

    Args:
        spark: a session with Delta; its configuration is never changed.
        root: where the tables are: a directory (``"/data/pubsub"``), a URL
            (``"s3a://bucket/pubsub"``) or a catalog schema (``"main.pubsub"``).
        project: the project that short ids mean.
        clock: what tells the time; a ManualClock in tests.

    Names are short ids (``"flights"``) or full names (``"projects/p/topics/flights"``). Every
    error is a PubSubError, named by Google's canonical code.
    """

    def __init__(
        self,
        spark: SparkSession,
        root: str,
        *,
        project: str = "local",
        clock: Clock | None = None,
    ) -> None:
        check_session(spark)
        self._project = check_project(project)
        self._clock = clock if clock is not None else SystemClock()
        self._tables = Tables(spark, root)

    # Topics

    def create_topic(
        self,
        topic: str,
        *,
        message_retention_duration: Duration | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Topic:
        """Create a topic. AlreadyExists if the name is taken."""
        refuse_topic_retention(message_retention_duration)
        return administer.create_topic(self._tables, self._topic(topic), self._clock.now(), labels)

    def get_topic(self, topic: str) -> Topic:
        """Return a topic. NotFound if there is none."""
        return self._tables.topic(self._topic(topic))

    def list_topics(
        self,
        *,
        project: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Page[Topic]:
        """List the topics of a project, by name."""
        return administer.list_topics(
            self._tables, self._project_or(project), page_size, page_token
        )

    def update_topic(self, topic: str, **fields: Any) -> Topic:
        """Change the named fields of a topic: ``labels`` (None clears them)."""
        return administer.update_topic(self._tables, self._topic(topic), fields)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; its subscriptions keep their backlog under ``_deleted-topic_``."""
        administer.delete_topic(self._tables, self._topic(topic))

    def list_topic_subscriptions(
        self, topic: str, *, page_size: int | None = None, page_token: str | None = None
    ) -> Page[str]:
        """List the full names of the subscriptions attached to a topic."""
        return administer.list_topic_subscriptions(
            self._tables, self._topic(topic), page_size, page_token
        )

    # Subscriptions

    def create_subscription(
        self,
        subscription: str,
        topic: str,
        *,
        ack_deadline_seconds: int = 10,
        message_retention_duration: Duration = "7d",
        retain_acked_messages: bool = False,
        expiration_policy: object = None,
        filter: str = "",
        enable_message_ordering: bool = False,
        enable_exactly_once_delivery: bool = False,
        dead_letter_policy: DeadLetterPolicy | None = None,
        retry_policy: RetryPolicy | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Subscription:
        """Create a subscription to what is published to the topic from now on.

        Args:
            subscription: the id or full name of the new subscription.
            topic: the topic's id or full name. NotFound if there is none.
            ack_deadline_seconds: how long a lease lasts, 10 to 600.
            message_retention_duration: how long an unacknowledged message is kept, 10 minutes to
                7 days.
            retain_acked_messages: not supported yet; only False is accepted.
            expiration_policy: not supported yet; only None is accepted.
            filter: which messages the subscription is about, by their attributes: at most 256
                bytes, like ``attributes.lang = "en" AND NOT attributes:test``. It cannot be
                changed later.
            enable_message_ordering: deliver the messages of an ordering key in the order of
                receipt. It cannot be changed later.
            enable_exactly_once_delivery: an acknowledgement that succeeded is final, and only the
                ack id of a live lease is valid.
            dead_letter_policy: where messages go that failed too often. NotFound if that topic
                does not exist.
            retry_policy: how long a failed message waits; None redelivers it at once.
            labels: strings by string, at most 63 characters each.
        """
        refuse_unsupported(
            {
                "retain_acked_messages": retain_acked_messages,
                "expiration_policy": expiration_policy,
            }
        )
        return administer.create_subscription(
            self._tables,
            self._subscription(subscription),
            self._topic(topic),
            self._clock.now(),
            ack_deadline_seconds=ack_deadline_seconds,
            message_retention_duration=message_retention_duration,
            filter=filter,
            enable_message_ordering=enable_message_ordering,
            enable_exactly_once_delivery=enable_exactly_once_delivery,
            dead_letter_policy=dead_letter_policy,
            retry_policy=retry_policy,
            labels=labels,
            project=self._project,
        )

    def get_subscription(self, subscription: str) -> Subscription:
        """Return a subscription. NotFound if there is none."""
        return self._tables.subscription(self._subscription(subscription))

    def list_subscriptions(
        self,
        *,
        project: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Page[Subscription]:
        """List the subscriptions of a project, by name."""
        return administer.list_subscriptions(
            self._tables, self._project_or(project), page_size, page_token
        )

    def update_subscription(self, subscription: str, **fields: Any) -> Subscription:
        """Change the named fields; None clears ``dead_letter_policy`` and ``retry_policy``.

        Also ``ack_deadline_seconds``, ``message_retention_duration``,
        ``enable_exactly_once_delivery`` and ``labels``. All others cannot be changed.
        """
        return administer.update_subscription(
            self._tables,
            self._subscription(subscription),
            fields,
            self._project,
            self._clock.now(),
        )

    def delete_subscription(self, subscription: str) -> None:
        """Delete a subscription and with it its backlog; the name is free at once."""
        administer.delete_subscription(self._tables, self._subscription(subscription))

    def detach_subscription(self, subscription: str) -> None:
        """Detach a subscription from its topic for good: its backlog is dropped."""
        administer.detach_subscription(self._tables, self._subscription(subscription))

    # Messages

    def publish(
        self,
        topic: str,
        messages: DataFrame | Iterable[Message | bytes | str],
        *,
        idempotency_id: tuple[str, int] | None = None,
        order_by: str | None = None,
    ) -> publish.PublishResult:
        """Publish messages in one atomic commit.

        A DataFrame has ``data BINARY`` (or STRING), ``attributes MAP<STRING,STRING>`` and
        ``ordering_key STRING``, each of which may be absent, though not the first two together.
        One bad message fails the whole request with InvalidArgument, and nothing is written.

        ``idempotency_id``: (application id, version), rising versions; publishing the same one
        again writes nothing and returns the first result.

        ``order_by``: the column of a DataFrame that gives the order of receipt of the messages of
        an ordering key; it is not stored. Without it the order within a DataFrame is whatever
        Spark makes of it. Messages given one by one are received in that order.
        """
        found = self._tables.topic(self._topic(topic))
        return publish.publish(
            self._tables,
            self._tables.messages(found.uid),
            messages,
            self._clock.now(),
            idempotency_id,
            order_by,
        )

    def pull(self, subscription: str, max_messages: int | None = None) -> PulledBatch:
        """Lease up to so many available messages, oldest first, until now + the ack deadline.

        None means all that are available. The batch may be smaller, or empty.
        """
        name = self._subscription(subscription)
        leased = pull.pull(self._tables, name, max_messages, self._clock.now())
        df = self._tables.spark.createDataFrame([], EMPTY_BATCH) if leased is None else leased.df
        return PulledBatch(
            df,
            leased,
            lambda ids: self._acknowledge(name, ids),
            lambda ids, seconds: self._modify_ack_deadline(name, ids, seconds),
        )

    def acknowledge(self, subscription: str, ack_ids: DataFrame | Iterable[str]) -> AckResult:
        """Acknowledge deliveries: a list of ack ids, or a DataFrame with a column ``ack_id``."""
        return self._acknowledge(self._subscription(subscription), ack_ids)

    def modify_ack_deadline(
        self,
        subscription: str,
        ack_ids: DataFrame | Iterable[str],
        ack_deadline_seconds: int,
    ) -> AckResult:
        """Move the deadline of deliveries to so many seconds from now (1–600); 0 is a nack."""
        return self._modify_ack_deadline(
            self._subscription(subscription), ack_ids, ack_deadline_seconds
        )

    # Looking in

    def read_topic(self, topic: str) -> DataFrame:
        """Return the stored messages of a topic: message_id and the message's columns."""
        return self._tables.messages(self._tables.topic(self._topic(topic)).uid).everything()

    def backlog(self, subscription: str) -> DataFrame:
        """Return the unacknowledged messages of a subscription; nothing is leased or written.

        Columns: message_id and the message's columns, ``state`` (available, leased, backing_off
        or forwarding), and ``delivery_attempt``, the one under way or to come. It is one above
        the permitted ones where the message waits to be forwarded.
        """
        return measure.backlog(self._tables, self._subscription(subscription), self._clock.now())

    def metrics(self, name: str) -> dict[str, Any]:
        """Return the metrics of a topic or a subscription, under Google's names.

        A short id means the subscription of that name if there is one, and the topic otherwise.
        """
        return measure.metrics(self._tables, name, self._project, self._clock.now())

    # Looking after it

    def maintain(self) -> maintain.MaintenanceReport:
        """Forward messages whose last delivery attempt failed to their dead-letter topics.

        A pull does the same for its own subscription. Problems are reported, not raised.
        """
        return maintain.maintain(self._tables, self._clock.now())

    def _acknowledge(
        self, name: ResourceName, ack_ids: DataFrame | Iterable[str] | Named
    ) -> AckResult:
        return acknowledge.acknowledge(self._tables, name, ack_ids, self._clock.now())

    def _modify_ack_deadline(
        self,
        name: ResourceName,
        ack_ids: DataFrame | Iterable[str] | Named,
        seconds: int,
    ) -> AckResult:
        return acknowledge.modify_ack_deadline(
            self._tables, name, ack_ids, seconds, self._clock.now()
        )

    def _topic(self, name: str) -> ResourceName:
        return topic_name(name, self._project)

    def _subscription(self, name: str) -> ResourceName:
        return subscription_name(name, self._project)

    def _project_or(self, project: str | None) -> str:
        return self._project if project is None else check_project(project)
