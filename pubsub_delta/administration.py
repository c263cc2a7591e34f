"""Administration: the half of PubSub that is about topics, subscriptions and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubsub_delta.clock import Clock
from pubsub_delta.durations import Duration
from pubsub_delta.names import (
    ResourceName,
    check_project,
    snapshot_name,
    subscription_name,
    topic_name,
)
from pubsub_delta.operations import administer
from pubsub_delta.operations import snapshot as snapshots
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    Page,
    PushConfig,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.schema_administration import SchemaAdministration
from pubsub_delta.schemas import SchemaSettings
from pubsub_delta.table_config import TableConfig
from pubsub_delta.tables.store import Tables


class Administration(SchemaAdministration):
    """Create, find, list, change and delete topics, subscriptions and snapshots."""

    def __init__(self, tables: Tables, project: str, clock: Clock) -> None:
        self._tables = tables
        self._project = check_project(project)
        self._clock = clock

    @property
    def tables(self) -> Tables:
        """The tables behind it, for the server that works on the same store."""
        return self._tables

    @property
    def lane(self) -> str:
        """Which lane does what is small, and why, in one line."""
        return self._tables.lane_line

    # Topics

    def create_topic(
        self,
        topic: str,
        *,
        message_retention_duration: Duration | None = None,
        labels: Mapping[str, str] | None = None,
        schema_settings: SchemaSettings | None = None,
    ) -> Topic:
        """Create a topic. AlreadyExists if the name is taken.

        ``message_retention_duration``: how long the topic itself keeps every message, acknowledged
        or not, for any subscription to seek back to: 10 minutes to 31 days. None: it does not.
        ``schema_settings``: which schema the data of its messages must fit. NotFound if there is no
        such schema, or revision.
        """
        return administer.create_topic(
            self._tables,
            self._topic(topic),
            self._clock.now(),
            message_retention_duration=message_retention_duration,
            labels=labels,
            schema_settings=schema_settings,
            project=self._project,
        )

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

    def update_topic(
        self, topic: str, *, if_unchanged: Topic | None = None, **fields: Any
    ) -> Topic:
        """Change ``labels``, ``message_retention_duration`` or ``schema_settings``; None clears it.

        Of what was published before the change, no more is covered than was covered then.

        ``if_unchanged``: the topic as it was read. If it is stored otherwise by now, because
        somebody else has changed it or created it anew, nothing is written, and Aborted is raised.
        None: what is stored does not matter.
        """
        return administer.update_topic(
            self._tables,
            self._topic(topic),
            fields,
            self._project,
            self._clock.now(),
            if_unchanged,
        )

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; its subscriptions keep their backlog under ``_deleted-topic_``."""
        administer.delete_topic(self._tables, self._topic(topic), self._clock.now())

    def list_topic_subscriptions(
        self, topic: str, *, page_size: int | None = None, page_token: str | None = None
    ) -> Page[str]:
        """List the full names of the subscriptions attached to a topic."""
        return administer.list_topic_subscriptions(
            self._tables, self._topic(topic), page_size, page_token
        )

    def list_topic_snapshots(
        self, topic: str, *, page_size: int | None = None, page_token: str | None = None
    ) -> Page[str]:
        """List the full names of the snapshots of a topic."""
        return snapshots.list_topic_snapshots(
            self._tables, self._topic(topic), self._clock.now(), page_size, page_token
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
        expiration_policy: ExpirationPolicy | None = None,
        filter: str = "",
        enable_message_ordering: bool = False,
        enable_exactly_once_delivery: bool = False,
        dead_letter_policy: DeadLetterPolicy | None = None,
        retry_policy: RetryPolicy | None = None,
        labels: Mapping[str, str] | None = None,
        push_config: PushConfig | None = None,
        table_config: TableConfig | None = None,
    ) -> Subscription:
        """Create a subscription to what is published to the topic from now on.

        Args:
            subscription: the id or full name of the new subscription.
            topic: the topic's id or full name. NotFound if there is none.
            ack_deadline_seconds: how long a lease lasts, 10 to 600.
            message_retention_duration: how long an unacknowledged message is kept, 10 minutes to
                7 days.
            retain_acked_messages: keep acknowledged messages that long too, for a seek to bring
                them back.
            expiration_policy: after how long without use the subscription is deleted, by
                ``maintain``; None means 31 days, ``ExpirationPolicy(ttl=None)`` never.
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
            push_config: where a running ``pubsub-delta serve`` pushes the messages to. The library
                itself does not push; its ``pull`` takes messages of such a subscription as of any
                other, and each goes to whoever leases it first.
            table_config: the Delta table that a running server, ``maintain`` and ``write_table``
                write the messages to, each once. NotFound if there is no such table,
                InvalidArgument if its columns do not do. Nobody can pull from it then.
        """
        return administer.create_subscription(
            self._tables,
            self._subscription(subscription),
            self._topic(topic),
            self._clock.now(),
            ack_deadline_seconds=ack_deadline_seconds,
            message_retention_duration=message_retention_duration,
            retain_acked_messages=retain_acked_messages,
            expiration_policy=expiration_policy,
            filter=filter,
            enable_message_ordering=enable_message_ordering,
            enable_exactly_once_delivery=enable_exactly_once_delivery,
            dead_letter_policy=dead_letter_policy,
            retry_policy=retry_policy,
            labels=labels,
            push_config=push_config,
            table_config=table_config,
            project=self._project,
        )

    def get_subscription(self, subscription: str) -> Subscription:
        """Return a subscription. NotFound if there is none."""
        return administer.get_subscription(self._tables, self._subscription(subscription))

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

    def update_subscription(
        self, subscription: str, *, if_unchanged: Subscription | None = None, **fields: Any
    ) -> Subscription:
        """Change the named fields; all others stay as they are.

        None clears ``dead_letter_policy``, ``retry_policy``, ``push_config`` and
        ``table_config``. These can be changed, too: ``ack_deadline_seconds``,
        ``message_retention_duration``, ``retain_acked_messages``, ``expiration_policy``,
        ``enable_exactly_once_delivery`` and ``labels``.

        ``if_unchanged``: the subscription as it was read. If it is stored otherwise by now,
        nothing is changed, and Aborted is raised. What follows from its topic does not count.
        """
        return administer.update_subscription(
            self._tables,
            self._subscription(subscription),
            fields,
            self._project,
            self._clock.now(),
            if_unchanged,
        )

    def delete_subscription(self, subscription: str) -> None:
        """Delete a subscription and with it its backlog; the name is free at once."""
        administer.delete_subscription(self._tables, self._subscription(subscription))

    def detach_subscription(self, subscription: str) -> None:
        """Detach a subscription from its topic for good: its backlog is dropped."""
        administer.detach_subscription(
            self._tables, self._subscription(subscription), self._clock.now()
        )

    # Snapshots

    def create_snapshot(
        self,
        snapshot: str,
        subscription: str,
        *,
        labels: Mapping[str, str] | None = None,
    ) -> Snapshot:
        """Capture what is unacknowledged on a subscription, and all that is published later.

        It lives for 7 days less the age of the oldest unacknowledged message; FailedPrecondition
        where that is less than an hour, or where the topic was deleted.
        """
        return snapshots.create_snapshot(
            self._tables,
            self._snapshot(snapshot),
            self._subscription(subscription),
            self._clock.now(),
            labels,
        )

    def get_snapshot(self, snapshot: str) -> Snapshot:
        """Return a snapshot. NotFound if there is none, or it has expired."""
        return snapshots.get_snapshot(self._tables, self._snapshot(snapshot), self._clock.now())

    def list_snapshots(
        self,
        *,
        project: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Page[Snapshot]:
        """List the snapshots of a project, by name."""
        return snapshots.list_snapshots(
            self._tables, self._project_or(project), self._clock.now(), page_size, page_token
        )

    def update_snapshot(
        self, snapshot: str, *, if_unchanged: Snapshot | None = None, **fields: Any
    ) -> Snapshot:
        """Change ``labels`` or ``expire_time`` (in the future, at most 7 days after creation).

        ``if_unchanged``: the snapshot as it was read. If it is stored otherwise by now, nothing is
        written, and Aborted is raised.
        """
        return snapshots.update_snapshot(
            self._tables, self._snapshot(snapshot), fields, self._clock.now(), if_unchanged
        )

    def delete_snapshot(self, snapshot: str) -> None:
        """Delete a snapshot, and with it what only it held."""
        snapshots.delete_snapshot(self._tables, self._snapshot(snapshot), self._clock.now())

    def _topic(self, name: str) -> ResourceName:
        return topic_name(name, self._project)

    def _subscription(self, name: str) -> ResourceName:
        return subscription_name(name, self._project)

    def _snapshot(self, name: str) -> ResourceName:
        return snapshot_name(name, self._project)

    def _project_or(self, project: str | None) -> str:
        return self._project if project is None else check_project(project)
