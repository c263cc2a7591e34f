"""The accepted values of the fields of topics and subscriptions (Pub/Sub: their resource pages)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pubsub_delta.clock import read_time
from pubsub_delta.durations import Duration, format_duration, parse_duration_within
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import subscription_name, topic_name
from pubsub_delta.policy.arguments import check_switch, is_given, is_whole
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.policy.push_configs import check_push_config
from pubsub_delta.policy.schemas.revisions import check_settings
from pubsub_delta.policy.table_configs import check_table_config
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)

DEFAULT_ACK_DEADLINE_SECONDS = 10
MIN_ACK_DEADLINE_SECONDS = 10
MAX_ACK_DEADLINE_SECONDS = 600
MIN_RETENTION = timedelta(minutes=10)
MAX_SUBSCRIPTION_RETENTION = timedelta(days=31)
MAX_LABEL_CHARACTERS = 63

MAX_BACKOFF = timedelta(seconds=600)
MIN_DELIVERY_ATTEMPTS = 5
MAX_DELIVERY_ATTEMPTS = 100

MAX_TOPIC_RETENTION = timedelta(days=31)
MIN_TTL = timedelta(days=1)
MAX_TTL = timedelta(days=36_500)
MAX_SNAPSHOT_LIFETIME = timedelta(days=7)

IMMUTABLE_FIELDS = (
    "name",
    "topic",
    "filter",
    "enable_message_ordering",
    "detached",
    "topic_message_retention_duration",
    "retained_from",
    "create_time",
    "update_time",
    "uid",
)


def check_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels; keys are 1 to 63 characters, values at most 63. None means no labels."""
    if labels is None:
        return {}
    if not isinstance(labels, Mapping):
        raise InvalidArgument(
            f"labels: {labels!r} is not a mapping; strings by string are accepted"
        )
    for key, value in labels.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidArgument(
                f"labels: {key!r}: {value!r} is not a pair of strings; strings by string are "
                "accepted"
            )
        if not 1 <= len(key) <= MAX_LABEL_CHARACTERS:
            raise InvalidArgument(
                f"labels: key {key!r} has {len(key)} characters; "
                f"1 to {MAX_LABEL_CHARACTERS} are accepted"
            )
        if len(value) > MAX_LABEL_CHARACTERS:
            raise InvalidArgument(
                f"labels: the value {value!r} of {key!r} has {len(value)} characters; "
                f"at most {MAX_LABEL_CHARACTERS} are accepted"
            )
        try:
            (key + value).encode()
        except UnicodeEncodeError:
            raise InvalidArgument(
                f"labels: {key!r}: {value!r} cannot be written as UTF-8; "
                "text without lone surrogates is accepted"
            ) from None
    return dict(labels)


def check_ack_deadline(seconds: int) -> int:
    """Return a subscription's ack deadline: 10 to 600 seconds, 0 meaning the default of 10."""
    if seconds == 0 and type(seconds) is int:
        return DEFAULT_ACK_DEADLINE_SECONDS
    return _whole_seconds(seconds, MIN_ACK_DEADLINE_SECONDS, "0 (the default) or ")


def check_new_deadline(seconds: int) -> timedelta:
    """Return the deadline that modify_ack_deadline sets: 0 (a nack) to 600 seconds from now."""
    return timedelta(seconds=_whole_seconds(seconds, 0, ""))


def _whole_seconds(seconds: int, least: int, also: str) -> int:
    if not is_whole(seconds) or not least <= seconds <= MAX_ACK_DEADLINE_SECONDS:
        raise InvalidArgument(
            f"ack_deadline_seconds: {seconds!r} is out of range; "
            f"{also}whole seconds from {least} to {MAX_ACK_DEADLINE_SECONDS} are accepted"
        )
    return seconds


def check_subscription_retention(value: Duration) -> timedelta:
    """Return how long unacknowledged messages are kept: 10 minutes to 31 days."""
    return parse_duration_within(
        value, "message_retention_duration", MIN_RETENTION, MAX_SUBSCRIPTION_RETENTION
    )


def check_topic_retention(value: Duration | None) -> timedelta | None:
    """Return how long a topic keeps every message: 10 minutes to 31 days, or None."""
    if value is None:
        return None
    return parse_duration_within(
        value, "message_retention_duration", MIN_RETENTION, MAX_TOPIC_RETENTION
    )


def check_expiration_policy(
    policy: ExpirationPolicy | None, message_retention_duration: timedelta
) -> ExpirationPolicy:
    """Return when an idle subscription is deleted; None means the default of 31 days.

    The ttl is at least 1 day, at most 100 years, and longer than the subscription's message
    retention.
    """
    if policy is None:
        policy = ExpirationPolicy()
    if not isinstance(policy, ExpirationPolicy):
        raise InvalidArgument(
            f"expiration_policy: {policy!r} is not an ExpirationPolicy; "
            "ExpirationPolicy(ttl=None) means never"
        )
    if policy.ttl is None:
        return policy
    assert isinstance(policy.ttl, timedelta)
    shown = format_duration(policy.ttl)
    if policy.ttl < MIN_TTL:
        raise InvalidArgument(
            f"expiration_policy.ttl: {shown} is out of range; {format_duration(MIN_TTL)} or more, "
            "or none for never, is accepted"
        )
    if policy.ttl > MAX_TTL:
        raise InvalidArgument(
            f"expiration_policy.ttl: {shown} is out of range; "
            f"up to {format_duration(MAX_TTL)}, or none for never, is accepted"
        )
    if policy.ttl <= message_retention_duration:
        raise InvalidArgument(
            f"expiration_policy.ttl: {shown} is not longer than the message_retention_duration of "
            f"{format_duration(message_retention_duration)}; a longer one is accepted"
        )
    return policy


def check_retry_policy(policy: RetryPolicy | None) -> RetryPolicy | None:
    """Return a retry policy: both backoffs are 0 to 600 seconds, the minimum not above the other.

    None means immediate redelivery.
    """
    if not is_given(policy, RetryPolicy, "retry_policy", "no wait"):
        return None
    smallest, largest = (
        parse_duration_within(value, f"retry_policy.{name}", timedelta(0), MAX_BACKOFF)
        for name, value in (
            ("minimum_backoff", policy.minimum_backoff),
            ("maximum_backoff", policy.maximum_backoff),
        )
    )
    if smallest > largest:
        raise InvalidArgument(
            f"retry_policy.minimum_backoff: {smallest.total_seconds():g}s is more than the "
            f"maximum_backoff; up to {largest.total_seconds():g}s is accepted"
        )
    return policy


def check_dead_letter_policy(
    policy: DeadLetterPolicy | None, topic: str, project: str
) -> DeadLetterPolicy | None:
    """Return a dead-letter policy with the full name of its topic, which is not ``topic``.

    ``max_delivery_attempts`` is 5 to 100. The caller checks whether the topic exists.
    """
    if not is_given(policy, DeadLetterPolicy, "dead_letter_policy", "no dead letters"):
        return None
    attempts = policy.max_delivery_attempts
    if not is_whole(attempts) or not MIN_DELIVERY_ATTEMPTS <= attempts <= MAX_DELIVERY_ATTEMPTS:
        raise InvalidArgument(
            f"dead_letter_policy.max_delivery_attempts: {attempts!r} is out of range; "
            f"whole numbers from {MIN_DELIVERY_ATTEMPTS} to {MAX_DELIVERY_ATTEMPTS} are accepted"
        )
    target = str(topic_name(policy.dead_letter_topic, project))
    if target == topic:
        raise InvalidArgument(
            f"dead_letter_policy.dead_letter_topic: {target} is the subscription's own topic; "
            "another topic is accepted"
        )
    return DeadLetterPolicy(target, attempts)


def check_max_messages(max_messages: int | None) -> int | None:
    """Return the limit of a pull: at least 1, or None for all available messages."""
    if max_messages is not None and (not is_whole(max_messages) or max_messages <= 0):
        raise InvalidArgument(
            f"max_messages: {max_messages!r} is out of range; 1 or more is accepted"
        )
    return max_messages


def check_subscription(wanted: Subscription, project: str) -> Subscription:
    """Return a new subscription with full names and checked fields.

    >>> checked = check_subscription(Subscription("late", "flights"), "local")
    >>> checked.name, checked.topic
    ('projects/local/subscriptions/late', 'projects/local/topics/flights')
    """
    named = replace(
        wanted,
        name=str(subscription_name(wanted.name, project)),
        topic=str(topic_name(wanted.topic, project)),
    )
    ordered = named.enable_message_ordering
    fields = {name: getattr(named, name) for name in _subscription_checks(named, project)}
    return replace(
        named,
        filter=named.filter if parse_filter(named.filter) else "",
        enable_message_ordering=check_switch(ordered, "enable_message_ordering"),
        **check_subscription_update(fields, named, project),
    )


def check_topic(wanted: Topic, project: str) -> Topic:
    """Return a new topic with its full name and checked fields."""
    fields = {name: getattr(wanted, name) for name in _TOPIC_CHECKS}
    name = str(topic_name(wanted.name, project))
    return replace(wanted, name=name, **check_topic_update(fields))


_TOPIC_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "labels": check_labels,
    "message_retention_duration": check_topic_retention,
    "schema_settings": check_settings,
}


def _subscription_checks(
    subscription: Subscription, project: str
) -> dict[str, Callable[[Any], object]]:
    """Return the check of each field that can be changed; configurations depend on other fields."""
    return {
        "ack_deadline_seconds": check_ack_deadline,
        "message_retention_duration": check_subscription_retention,
        "retain_acked_messages": lambda value: check_switch(value, "retain_acked_messages"),
        "expiration_policy": lambda value: value,
        "enable_exactly_once_delivery": lambda value: check_switch(
            value, "enable_exactly_once_delivery"
        ),
        "dead_letter_policy": lambda value: check_dead_letter_policy(
            value, subscription.topic, project
        ),
        "retry_policy": check_retry_policy,
        "labels": check_labels,
        "push_config": lambda value: value,
        "table_config": lambda value: value,
    }


def check_subscription_update(
    fields: Mapping[str, Any], subscription: Subscription, project: str
) -> dict[str, Any]:
    """Return the new values of a subscription's fields that an update names."""
    changes = _checked(fields, _subscription_checks(subscription, project))
    if {"push_config", "table_config", "enable_exactly_once_delivery"} & changes.keys():
        exactly_once = changes.get(
            "enable_exactly_once_delivery", subscription.enable_exactly_once_delivery
        )
        push = check_push_config(
            changes.get("push_config", subscription.push_config),
            enable_exactly_once_delivery=exactly_once,
        )
        table = check_table_config(
            changes.get("table_config", subscription.table_config),
            push_config=push,
            enable_exactly_once_delivery=exactly_once,
        )
        checked = {"push_config": push, "table_config": table}
        changes |= {name: config for name, config in checked.items() if name in changes}
    if {"message_retention_duration", "expiration_policy"} & changes.keys():
        policy = check_expiration_policy(
            changes.get("expiration_policy", subscription.expiration_policy),
            changes.get("message_retention_duration", subscription.message_retention_duration),
        )
        if "expiration_policy" in changes:
            changes["expiration_policy"] = policy
    return changes


def check_topic_update(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new values of a topic's fields that an update names."""
    return _checked(fields, _TOPIC_CHECKS)


def check_snapshot_update(
    fields: Mapping[str, Any], snapshot: Snapshot, now: datetime
) -> dict[str, Any]:
    """Return the new values of a snapshot's fields that an update names."""
    latest = snapshot.create_time + MAX_SNAPSHOT_LIFETIME

    def check_expire_time(value: Any) -> datetime:
        time = read_time(value, "expire_time")
        if not now < time <= latest:
            raise InvalidArgument(
                f"expire_time: {time.isoformat()} is out of range; a time after "
                f"{now.isoformat()} (now) and up to {latest.isoformat()} "
                "(7 days after its creation) is accepted"
            )
        return time

    return _checked(fields, {"labels": check_labels, "expire_time": check_expire_time})


def _checked(
    fields: Mapping[str, Any], checks: Mapping[str, Callable[[Any], object]]
) -> dict[str, Any]:
    for field in fields:
        if field in checks:
            continue
        if field in IMMUTABLE_FIELDS:
            raise InvalidArgument(
                f"{field!r} cannot be changed; delete the resource and create it again"
            )
        raise InvalidArgument(
            f"{field!r} is not a field; fields that can be updated: {', '.join(sorted(checks))}"
        )
    return {field: checks[field](value) for field, value in fields.items()}
