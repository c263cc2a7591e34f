"""Errors of the library in the words of the pages: a page addresses a reader, not a program."""

from __future__ import annotations

import re

_FIELDS = {
    "message_retention_duration": "message retention",
    "dead_letter_policy.dead_letter_topic": "dead-letter topic",
    "dead_letter_policy": "dead lettering",
    "dead_letter_topic": "dead-letter topic",
    "max_delivery_attempts": "maximum delivery attempts",
    "enable_exactly_once_delivery": "exactly-once delivery",
    "enable_message_ordering": "message ordering",
    "retain_acked_messages": "retain acknowledged messages",
    "ack_deadline_seconds": "acknowledgement deadline",
    "expiration_policy.ttl": "expiration period",
    "expiration_policy": "expiration period",
    "retry_policy.minimum_backoff": "minimum backoff",
    "retry_policy.maximum_backoff": "maximum backoff",
    "retry_policy": "retry policy",
    "minimum_backoff": "minimum backoff",
    "maximum_backoff": "maximum backoff",
    "push_config.push_endpoint": "endpoint URL",
    "push_config": "push delivery",
    "push_endpoint": "endpoint URL",
    "table_config.table": "table",
    "table_config": "table",
    "no_wrapper": "bare data",
    "write_metadata": "metadata in headers",
    "expire_time": "expiry",
    "max_messages": "number of messages",
    "ordering_key": "ordering key",
    "publish_time": "publish time",
}
_NAMED = re.compile(
    r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)"  # what was given is shown as it is
    rf"|(?<![\w./])({'|'.join(map(re.escape, sorted(_FIELDS, key=len, reverse=True)))})(?![\w.]\w)"
)
_DURATION = re.compile(
    r"(?<![\w'\"/.~+%-])(\d+d)?(\d+h)?(\d+m)?(\d+s)?(?![\w'\"/~+%-])"  # not inside of a longer name
)
_UNITS = {"d": "d", "h": "h", "m": "min", "s": "s"}


def readable(text: str) -> str:
    """Write an error without the names that only a program knows.

    >>> readable("0s is out of range; from 10m to 7d is accepted")
    '0 s is out of range; from 10 min to 7 d is accepted'
    >>> readable("topic projects/local/topics/kept-3d does not exist; create it first")
    'topic projects/local/topics/kept-3d does not exist; create it first'
    >>> readable("retry_policy.minimum_backoff: it is more than the maximum_backoff")
    'minimum backoff: it is more than the maximum backoff'
    >>> readable("labels: 'expire_time' has 64 characters; the topic's expire_time has none")
    "labels: 'expire_time' has 64 characters; the topic's expiry has none"
    """
    text = _NAMED.sub(lambda found: _FIELDS[found[1]] if found[1] else found[0], text)
    return _DURATION.sub(lambda found: _written(found[0]), text)


def _written(duration: str) -> str:
    return " ".join(
        f"{number} {_UNITS[unit]}" for number, unit in re.findall(r"(\d+)([dhms])", duration)
    )
