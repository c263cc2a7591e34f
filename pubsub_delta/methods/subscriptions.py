"""The methods of PubSub for subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubsub_delta.durations import Duration
from pubsub_delta.methods.store import Store
from pubsub_delta.operations import administer
from pubsub_delta.policy.fields import check_subscription_retention
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
    """Create a subscription to the messages that are published to a topic from now on.

    NotFound, AlreadyExists; InvalidArgument for a field that breaks a rule.

    Args:
        subscription: the id or full name of the new subscription.
        topic: the topic's id or full name. NotFound if there is none.
        ack_deadline_seconds: how long a lease lasts, 10 to 600.
        message_retention_duration: how long an unacknowledged message is kept, 10 minutes to
            31 days.
        retain_acked_messages: keep acknowledged messages that long, too, so that a seek can restore
            them.
        expiration_policy: how long the subscription can be idle before ``maintain`` deletes it;
            None means 31 days, ``ExpirationPolicy(ttl=None)`` never.
        filter: the messages to deliver, by their attributes; at most 256 bytes, such as
            ``attributes.lang = "en" AND NOT attributes:test``. It cannot be changed later.
        enable_message_ordering: deliver the messages of an ordering key in the order of
            receipt. It cannot be changed later.
        enable_exactly_once_delivery: make successful acknowledgements final, and accept only the
            ack id of a live lease.
        dead_letter_policy: the topic for messages that failed too often. NotFound if it does not
            exist.
        retry_policy: how long a failed message waits for its redelivery; None redelivers it at
            once.
        labels: strings by string, of at most 63 characters each.
        push_config: the endpoint to which a running ``pubsub-delta serve`` pushes the messages. The
            library itself does not push; ``pull`` works, too, and the first lease of a message
            wins.
        table_config: the Delta table that a running server, ``maintain`` and ``write_table`` write
            the messages to, each once. NotFound if the table does not exist, InvalidArgument if its
            columns do not fit. Nobody can pull from such a subscription.
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
        labels={} if labels is None else labels,
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
    """Change the named fields of a subscription; all others keep their values.

    None clears ``dead_letter_policy``, ``retry_policy``, ``push_config`` and ``table_config``.
    Other fields that can be changed: ``ack_deadline_seconds``, ``message_retention_duration``,
    ``retain_acked_messages``, ``expiration_policy``, ``enable_exactly_once_delivery`` and
    ``labels``.

    ``if_unchanged``: the subscription as it was read. If the stored one differs, the call changes
    nothing and raises Aborted. Fields that follow from its topic are not compared.
    """
    return administer.update_subscription(
        self._tables,
        self._subscription(subscription),
        fields,
        self._project,
        self._clock.now(),
        if_unchanged,
    )


def delete_subscription(
    self: Store, subscription: str, *, if_unchanged: Subscription | None = None
) -> None:
    """Delete a subscription and its backlog; the name is free at once. NotFound.

    ``if_unchanged``: the subscription as it was read. If the stored one differs, the call deletes
    nothing and raises Aborted.
    """
    self._clock.check()
    administer.delete_subscription(self._tables, self._subscription(subscription), if_unchanged)


def detach_subscription(self: Store, subscription: str) -> None:
    """Detach a subscription from its topic for good, and drop its backlog. NotFound."""
    administer.detach_subscription(
        self._tables, self._subscription(subscription), self._clock.now()
    )
