"""The methods of PubSub for topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubsub_delta.durations import Duration
from pubsub_delta.methods.store import Store
from pubsub_delta.operations import administer
from pubsub_delta.operations import snapshot as snapshots
from pubsub_delta.policy.fields import check_topic_retention
from pubsub_delta.resources import Page, Topic
from pubsub_delta.schemas import SchemaSettings


def create_topic(
    self: Store,
    topic: str,
    *,
    message_retention_duration: Duration | None = None,
    labels: Mapping[str, str] | None = None,
    schema_settings: SchemaSettings | None = None,
) -> Topic:
    """Create a topic. AlreadyExists if the name is taken.

    ``message_retention_duration``: how long the topic keeps every message, acknowledged or not, so
    that any subscription can seek back to it: 10 minutes to 31 days. None turns this off.
    ``schema_settings``: the schema that the data of its messages must fit. NotFound if the schema
    or a revision does not exist.
    """
    wanted = Topic(
        topic,
        message_retention_duration=check_topic_retention(message_retention_duration),
        labels={} if labels is None else labels,
        schema_settings=schema_settings,
    )
    return administer.create_topic(self._tables, wanted, self._project, self._clock.now())


def get_topic(self: Store, topic: str) -> Topic:
    """Return a topic. NotFound if there is none."""
    return self._tables.topic(self._topic(topic))


def list_topics(
    self: Store,
    *,
    project: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Page[Topic]:
    """List the topics of a project, by name."""
    return administer.list_topics(self._tables, self._project_or(project), page_size, page_token)


def update_topic(
    self: Store, topic: str, *, if_unchanged: Topic | None = None, **fields: Any
) -> Topic:
    """Change ``labels``, ``message_retention_duration`` or ``schema_settings``; None clears it.

    A longer retention covers no earlier messages than it did before the change.

    ``if_unchanged``: the topic as it was read. If the stored one differs, because another writer
    has changed it or created it again, the call writes nothing and raises Aborted. None makes no
    such check.
    """
    return administer.update_topic(
        self._tables, self._topic(topic), fields, self._project, self._clock.now(), if_unchanged
    )


def delete_topic(self: Store, topic: str, *, if_unchanged: Topic | None = None) -> None:
    """Delete a topic; its subscriptions keep their backlog under ``_deleted-topic_``.

    ``if_unchanged``: the topic as it was read. If the stored one differs, the call deletes nothing
    and raises Aborted.
    """
    administer.delete_topic(self._tables, self._topic(topic), self._clock.now(), if_unchanged)


def list_topic_subscriptions(
    self: Store, topic: str, *, page_size: int | None = None, page_token: str | None = None
) -> Page[str]:
    """List the full names of the subscriptions attached to a topic."""
    return administer.list_topic_subscriptions(
        self._tables, self._topic(topic), page_size, page_token
    )


def list_topic_snapshots(
    self: Store, topic: str, *, page_size: int | None = None, page_token: str | None = None
) -> Page[str]:
    """List the full names of the snapshots of a topic."""
    return snapshots.list_topic_snapshots(
        self._tables, self._topic(topic), self._clock.now(), page_size, page_token
    )
