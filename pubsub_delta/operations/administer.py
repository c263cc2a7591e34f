"""Create, find, list, change and delete topics and subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pubsub_delta.durations import Duration
from pubsub_delta.errors import AlreadyExists, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import fields as rules
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.paging import page
from pubsub_delta.resources import Page, Subscription, Topic
from pubsub_delta.tables.commits import repeat_on_conflict
from pubsub_delta.tables.store import Tables


def create_topic(
    tables: Tables, name: ResourceName, now: datetime, labels: Mapping[str, str] | None
) -> Topic:
    """Create a topic: first its empty table, then the row that makes it exist."""
    topic = Topic(str(name), rules.check_labels(labels), now, tables.new_id())
    if tables.registry.topic(topic.name) is not None:
        raise _taken("topic", name)
    tables.messages(topic.uid).create()
    if not repeat_on_conflict(lambda: tables.registry.add_topic(topic), f"topic {name}"):
        raise _taken("topic", name)
    return topic


def create_subscription(
    tables: Tables,
    name: ResourceName,
    topic_name: ResourceName,
    now: datetime,
    *,
    ack_deadline_seconds: int,
    message_retention_duration: Duration,
    labels: Mapping[str, str] | None,
) -> Subscription:
    """Create a subscription to what is published to its topic from now on."""
    subscription = Subscription(
        name=str(name),
        topic=str(topic_name),
        ack_deadline_seconds=rules.check_ack_deadline(ack_deadline_seconds),
        message_retention_duration=rules.check_subscription_retention(message_retention_duration),
        labels=rules.check_labels(labels),
        detached=False,
        create_time=now,
        uid=tables.new_id(),
    )
    topic = tables.topic(topic_name)
    if tables.registry.subscription(subscription.name) is not None:
        raise _taken("subscription", name)
    tail = tables.messages(topic.uid).version()
    tables.ack_states.create(subscription.uid, AckState(after_version=tail))
    added = repeat_on_conflict(
        lambda: tables.registry.add_subscription(subscription, topic.uid), f"subscription {name}"
    )
    if not added:
        raise _taken("subscription", name)
    return subscription


def list_topics(
    tables: Tables, project: str, page_size: int | None, page_token: str | None
) -> Page[Topic]:
    """List the topics of a project by name."""
    return page(tables.registry.topics(f"projects/{project}/"), page_size, page_token)


def list_subscriptions(
    tables: Tables, project: str, page_size: int | None, page_token: str | None
) -> Page[Subscription]:
    """List the subscriptions of a project by name."""
    return page(tables.registry.subscriptions(f"projects/{project}/"), page_size, page_token)


def list_topic_subscriptions(
    tables: Tables, topic: ResourceName, page_size: int | None, page_token: str | None
) -> Page[str]:
    """List the names of the subscriptions attached to a topic."""
    attached = tables.registry.subscriptions_of(tables.topic(topic))
    found = page([each for each in attached if not each.detached], page_size, page_token)
    return Page((each.name for each in found), found.next_page_token)


def update_topic(tables: Tables, name: ResourceName, fields: Mapping[str, Any]) -> Topic:
    """Change the named fields of a topic."""
    changes = rules.check_topic_update(fields)
    uid = tables.topic(name).uid
    if changes and not repeat_on_conflict(
        lambda: tables.registry.change_topic(uid, changes), f"topic {name}"
    ):
        raise NotFound(f"topic {name} was deleted just now")
    return tables.topic(name)


def update_subscription(
    tables: Tables, name: ResourceName, fields: Mapping[str, Any]
) -> Subscription:
    """Change the named fields of a subscription."""
    return _change_subscription(tables, name, rules.check_subscription_update(fields))


def detach_subscription(tables: Tables, name: ResourceName) -> None:
    """Detach a subscription from its topic for good: its backlog is dropped."""
    _change_subscription(tables, name, {"detached": True})


def delete_topic(tables: Tables, name: ResourceName) -> None:
    """Delete a topic; its subscriptions keep their backlog under ``_deleted-topic_``."""
    uid = tables.topic(name).uid
    if not repeat_on_conflict(lambda: tables.registry.remove_topic(uid), f"topic {name}"):
        raise NotFound(f"topic {name} was deleted just now")


def delete_subscription(tables: Tables, name: ResourceName) -> None:
    """Delete a subscription and with it its backlog."""
    uid = tables.subscription(name).uid
    if not repeat_on_conflict(
        lambda: tables.registry.remove_subscription(uid), f"subscription {name}"
    ):
        raise NotFound(f"subscription {name} was deleted just now")


def _change_subscription(
    tables: Tables, name: ResourceName, changes: Mapping[str, Any]
) -> Subscription:
    uid = tables.subscription(name).uid
    if changes and not repeat_on_conflict(
        lambda: tables.registry.change_subscription(uid, changes), f"subscription {name}"
    ):
        raise NotFound(f"subscription {name} was deleted just now")
    return tables.subscription(name)


def _taken(kind: str, name: ResourceName) -> AlreadyExists:
    return AlreadyExists(f"{kind} {name} exists already; choose another name or delete it first")
