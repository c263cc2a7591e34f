"""The methods of PubSub that are about subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubsub_delta.durations import Duration
from pubsub_delta.methods.store import Store
from pubsub_delta.operations import administer
from pubsub_delta.policy.fields import check_labels, check_subscription_retention
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    Page,
    PushConfig,
    RetryPolicy,
    Subscription,
)
from pubsub_delta.table_config import TableConfig


def create_subscription(
    self: Store,
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
            31 days.
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
    wanted = Subscription(
        subscription,
        topic,
        ack_deadline_seconds=ack_deadline_seconds,
        message_retention_duration=check_subscription_retention(message_retention_duration),
        retain_acked_messages=retain_acked_messages,
        expiration_policy=ExpirationPolicy() if expiration_policy is None else expiration_policy,
        filter=filter,
        enable_message_ordering=enable_message_ordering,
        enable_exactly_once_delivery=enable_exactly_once_delivery,
        dead_letter_policy=dead_letter_policy,
        retry_policy=retry_policy,
        labels=check_labels(labels),
        push_config=push_config,
        table_config=table_config,
    )
    return administer.create_subscription(self._tables, wanted, self._project, self._clock.now())


def get_subscription(self: Store, subscription: str) -> Subscription:
    """Return a subscription. NotFound if there is none."""
    return administer.get_subscription(self._tables, self._subscription(subscription))


def list_subscriptions(
    self: Store,
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
    self: Store, subscription: str, *, if_unchanged: Subscription | None = None, **fields: Any
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


def delete_subscription(self: Store, subscription: str) -> None:
    """Delete a subscription and with it its backlog; the name is free at once."""
    administer.delete_subscription(self._tables, self._subscription(subscription))


def detach_subscription(self: Store, subscription: str) -> None:
    """Detach a subscription from its topic for good: its backlog is dropped."""
    administer.detach_subscription(
        self._tables, self._subscription(subscription), self._clock.now()
    )
