"""Which values the fields of topics and subscriptions may take (Pub/Sub: their resource pages)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from pubsub_delta.durations import Duration, parse_duration_within
from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.names import topic_name
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy, Subscription

DEFAULT_ACK_DEADLINE_SECONDS = 10
MIN_ACK_DEADLINE_SECONDS = 10
MAX_ACK_DEADLINE_SECONDS = 600
MIN_RETENTION = timedelta(minutes=10)
MAX_SUBSCRIPTION_RETENTION = timedelta(days=7)
MAX_LABEL_CHARACTERS = 63

MAX_BACKOFF = timedelta(seconds=600)
MIN_DELIVERY_ATTEMPTS = 5
MAX_DELIVERY_ATTEMPTS = 100

NOT_SUPPORTED_YET: Mapping[str, object] = {
    "retain_acked_messages": False,
    "expiration_policy": None,
}
"""Subscription fields without behaviour yet, with the one value that says to do without."""

IMMUTABLE_FIELDS = ("name", "topic", "filter", "enable_message_ordering", "create_time", "uid")


def check_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels; keys are 1 to 63 characters, values at most 63. None means no labels."""
    if labels is None:
        return {}
    if not isinstance(labels, Mapping):
        raise InvalidArgument(f"labels: {labels!r} is not a mapping of strings by string")
    for key, value in labels.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidArgument(f"labels: {key!r}: {value!r}: keys and values are strings")
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
    return dict(labels)


def check_ack_deadline(seconds: int) -> int:
    """Return a subscription's ack deadline: 10 to 600 seconds, 0 meaning the default of 10."""
    if seconds == 0 and type(seconds) is int:
        return DEFAULT_ACK_DEADLINE_SECONDS
    return _whole_seconds(
        seconds, "ack_deadline_seconds", MIN_ACK_DEADLINE_SECONDS, "0 (the default) or "
    )


def check_new_deadline(seconds: int) -> timedelta:
    """Return the deadline that modify_ack_deadline sets: 0 (a nack) to 600 seconds from now."""
    return timedelta(seconds=_whole_seconds(seconds, "ack_deadline_seconds", 0, ""))


def _whole_seconds(seconds: int, field: str, least: int, also: str) -> int:
    whole = isinstance(seconds, int) and not isinstance(seconds, bool)
    if not whole or not least <= seconds <= MAX_ACK_DEADLINE_SECONDS:
        raise InvalidArgument(
            f"{field}: {seconds!r} is out of range; "
            f"{also}whole seconds from {least} to {MAX_ACK_DEADLINE_SECONDS} are accepted"
        )
    return seconds


def check_subscription_retention(value: Duration) -> timedelta:
    """Return how long unacknowledged messages are kept: 10 minutes to 7 days."""
    return parse_duration_within(
        value, "message_retention_duration", MIN_RETENTION, MAX_SUBSCRIPTION_RETENTION
    )


def check_switch(value: bool, field: str) -> bool:
    """Return a field that is either on or off."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{field}: {value!r} is neither True nor False")
    return value


def check_retry_policy(policy: RetryPolicy | None) -> RetryPolicy | None:
    """Return a retry policy: both backoffs are 0 to 600 seconds, the minimum not above the other.

    None means immediate redelivery.
    """
    if policy is None:
        return None
    if not isinstance(policy, RetryPolicy):
        raise InvalidArgument(f"retry_policy: {policy!r} is not a RetryPolicy; or None for no wait")
    smallest, largest = (
        parse_duration_within(value, f"retry_policy.{name}", timedelta(0), MAX_BACKOFF)
        for name, value in (
            ("minimum_backoff", policy.minimum_backoff),
            ("maximum_backoff", policy.maximum_backoff),
        )
    )
    if smallest > largest:
        raise InvalidArgument(
            f"retry_policy: minimum_backoff {smallest.total_seconds():g}s is above "
            f"maximum_backoff {largest.total_seconds():g}s; at most that is accepted"
        )
    return policy


def check_dead_letter_policy(
    policy: DeadLetterPolicy | None, topic: str, project: str
) -> DeadLetterPolicy | None:
    """Return a dead-letter policy with the full name of its topic, which is not ``topic``.

    ``max_delivery_attempts`` is 5 to 100. Whether the topic exists is for others to find out.
    """
    if policy is None:
        return None
    if not isinstance(policy, DeadLetterPolicy):
        raise InvalidArgument(
            f"dead_letter_policy: {policy!r} is not a DeadLetterPolicy; or None for none"
        )
    attempts = policy.max_delivery_attempts
    whole = isinstance(attempts, int) and not isinstance(attempts, bool)
    if not whole or not MIN_DELIVERY_ATTEMPTS <= attempts <= MAX_DELIVERY_ATTEMPTS:
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
    """Return the limit of a pull: at least 1, or None for all that is available."""
    whole = isinstance(max_messages, int) and not isinstance(max_messages, bool)
    if max_messages is not None and (not whole or max_messages <= 0):
        raise InvalidArgument(
            f"max_messages: {max_messages!r} is out of range; 1 or more, or None for all"
        )
    return max_messages


def refuse_unsupported(fields: Mapping[str, object]) -> None:
    """Refuse fields whose behaviour does not exist yet, unless they say to do without it."""
    for field, value in fields.items():
        if field in NOT_SUPPORTED_YET and value != NOT_SUPPORTED_YET[field]:
            raise Unimplemented(
                f"{field}: {value!r} is not supported yet; "
                f"only {NOT_SUPPORTED_YET[field]!r} is accepted in this version"
            )


def refuse_topic_retention(duration: Duration | None) -> None:
    """Refuse retention by a topic, which does not exist yet."""
    if duration is not None:
        raise Unimplemented(
            f"message_retention_duration: {duration!r} is not supported on a topic yet; "
            "only None is accepted in this version"
        )


def check_subscription_update(
    fields: Mapping[str, Any], subscription: Subscription, project: str
) -> dict[str, Any]:
    """Return the new values of a subscription's fields that an update names."""
    checks: dict[str, Callable[[Any], object]] = {
        "ack_deadline_seconds": check_ack_deadline,
        "message_retention_duration": check_subscription_retention,
        "enable_exactly_once_delivery": lambda value: check_switch(
            value, "enable_exactly_once_delivery"
        ),
        "dead_letter_policy": lambda value: check_dead_letter_policy(
            value, subscription.topic, project
        ),
        "retry_policy": check_retry_policy,
        "labels": check_labels,
    }
    _refuse_other(fields, checks, not_yet=NOT_SUPPORTED_YET)
    refuse_unsupported(fields)
    return {field: checks[field](value) for field, value in fields.items() if field in checks}


def check_topic_update(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new values of a topic's fields that an update names."""
    retention = "message_retention_duration"
    _refuse_other(fields, ["labels"], not_yet=[retention])
    refuse_topic_retention(fields.get(retention))
    return {field: check_labels(value) for field, value in fields.items() if field != retention}


def _refuse_other(fields: Iterable[str], updatable: Iterable[str], not_yet: Iterable[str]) -> None:
    for field in fields:
        if field in IMMUTABLE_FIELDS:
            raise InvalidArgument(f"{field!r} cannot be changed; delete and create it anew")
        if field not in updatable and field not in not_yet:
            raise InvalidArgument(
                f"{field!r} is not a field; "
                f"fields that can be updated: {', '.join(sorted(updatable))}"
            )
