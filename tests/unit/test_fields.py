"""Which values the fields of topics, subscriptions and calls may take (spec sections 1 to 4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy import fields
from pubsub_delta.policy.arguments import check_switch
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    RetryPolicy,
)
from tests.unit.builders import PLAIN


@pytest.mark.parametrize(
    "labels", [{}, {"k": ""}, {"k" * 63: "v" * 63}, {"é" * 63: "ü" * 63}, {"a": "b", "c": "d"}]
)
def test_labels_within_the_limits_are_kept(labels: dict[str, str]) -> None:
    # "string → string, key non-empty, key and value ≤ 63 characters"
    kept = fields.check_labels(labels)
    assert kept == labels
    assert kept is not labels


def test_no_labels_and_none_are_the_same() -> None:
    # "None clears an optional one"
    assert fields.check_labels(None) == {}


@pytest.mark.parametrize(
    "labels",
    [
        {"": "v"},
        {"k" * 64: "v"},
        {"k": "v" * 64},
        {"k": 1},
        {1: "v"},
        {"k": None},
        [("k", "v")],
        "k=v",
        7,
        {"a": "b", "": "c"},
    ],
)
def test_labels_beyond_the_limits_are_refused(labels: Any) -> None:
    with pytest.raises(InvalidArgument, match="labels: "):
        fields.check_labels(labels)


@pytest.mark.parametrize(("seconds", "kept"), [(0, 10), (10, 10), (11, 11), (600, 600)])
def test_an_ack_deadline_is_10_to_600_seconds_and_0_means_10(seconds: int, kept: int) -> None:
    # "ack_deadline_seconds | 10 | 10–600 (0 means 10)"
    assert fields.check_ack_deadline(seconds) == kept


@pytest.mark.parametrize("seconds", [-1, 1, 9, 601, 10.5, 10.0, "10", None, True, False])
def test_any_other_ack_deadline_is_refused(seconds: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"ack_deadline_seconds: .* from 10 to 600"):
        fields.check_ack_deadline(seconds)


@pytest.mark.parametrize("seconds", [0, 1, 9, 10, 600])
def test_modify_ack_deadline_takes_0_to_600_seconds(seconds: int) -> None:
    # "0 = nack …; 1–600 = new deadline from now; other values → INVALID_ARGUMENT"
    assert fields.check_new_deadline(seconds) == timedelta(seconds=seconds)


@pytest.mark.parametrize("seconds", [-1, 601, 0.5, 1.0, "1", None, True, False])
def test_modify_ack_deadline_refuses_other_values(seconds: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"ack_deadline_seconds: .* from 0 to 600"):
        fields.check_new_deadline(seconds)


@pytest.mark.parametrize("value", ["10m", 600, "7d", timedelta(days=31), "1d12h"])
def test_a_subscription_keeps_messages_for_10_minutes_to_31_days(value: Any) -> None:
    # "message_retention_duration | 7 d | 10 min–31 d"
    kept = fields.check_subscription_retention(value)
    assert timedelta(minutes=10) <= kept <= timedelta(days=31)


@pytest.mark.parametrize("value", ["9m59s", 0, "31d1s", "32d", -1, None, "a week"])
def test_any_other_retention_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="message_retention_duration: "):
        fields.check_subscription_retention(value)


@pytest.mark.parametrize("limit", [1, 1000, 10**12, None])
def test_a_pull_takes_a_positive_limit_or_none_for_all(limit: int | None) -> None:
    # "None means all that is available"
    assert fields.check_max_messages(limit) == limit


@pytest.mark.parametrize("limit", [0, -1, 1.0, "1", True, float("inf")])
def test_any_other_limit_of_a_pull_is_refused(limit: Any) -> None:
    # "max_messages ≤ 0 → INVALID_ARGUMENT"
    with pytest.raises(InvalidArgument, match=r"max_messages: .* 1 or more is accepted"):
        fields.check_max_messages(limit)


@pytest.mark.parametrize("value", ["10m", 600, "31d", timedelta(days=31), "7d12h"])
def test_a_topic_keeps_messages_for_10_minutes_to_31_days(value: Any) -> None:
    # "`message_retention_duration` (off by default; 10 min–31 d)"
    kept = fields.check_topic_retention(value)
    assert kept is not None
    assert timedelta(minutes=10) <= kept <= timedelta(days=31)


def test_a_topic_may_keep_no_messages_of_its_own() -> None:
    # "off by default"
    assert fields.check_topic_retention(None) is None


@pytest.mark.parametrize("value", ["9m59s", 0, "31d1s", timedelta(days=32), -1, True, "a month"])
def test_any_other_retention_of_a_topic_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="message_retention_duration: "):
        fields.check_topic_retention(value)


# Policies


@pytest.mark.parametrize(
    ("smallest", "largest"),
    [("10s", "600s"), (0, 0), (0, 600), (600, 600), (0.5, "1s")],
)
def test_backoffs_are_0_to_600_seconds(smallest: Any, largest: Any) -> None:
    # "minimum_backoff default 10 s, maximum_backoff default 600 s, each 0–600 s, min ≤ max"
    policy = RetryPolicy(smallest, largest)
    assert fields.check_retry_policy(policy) is policy
    assert RetryPolicy() == RetryPolicy("10s", "600s")
    assert fields.check_retry_policy(None) is None


@pytest.mark.parametrize(
    ("smallest", "largest", "named"),
    [
        (-1, 10, r"minimum_backoff: -1s is out of range; from 0s to 10m"),
        (10, 601, r"maximum_backoff: 601s is out of range; from 0s to 10m"),
        (601, 600, "minimum_backoff"),
        (10, "11m", "maximum_backoff"),
        (20, 10, "minimum_backoff: 20s is more than the maximum_backoff; up to 10s"),
    ],
)
def test_other_backoffs_are_refused(smallest: Any, largest: Any, named: str) -> None:
    with pytest.raises(InvalidArgument, match=f"retry_policy.*{named}"):
        fields.check_retry_policy(RetryPolicy(smallest, largest))


def test_a_retry_policy_is_a_retry_policy() -> None:
    with pytest.raises(InvalidArgument, match="retry_policy: 10 is not a RetryPolicy"):
        fields.check_retry_policy(10)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"retry_policy\.minimum_backoff: 'soon'"):
        RetryPolicy("soon")


@pytest.mark.parametrize("attempts", [5, 6, 100])
def test_a_dead_letter_policy_names_its_topic_in_full(attempts: int) -> None:
    # "max_delivery_attempts 5–100, default 5"; "may be in another project"
    policy = fields.check_dead_letter_policy(
        DeadLetterPolicy("dead", attempts), PLAIN.topic, "here"
    )
    assert policy == DeadLetterPolicy("projects/here/topics/dead", attempts)
    other = DeadLetterPolicy("projects/other/topics/plain")
    assert fields.check_dead_letter_policy(other, PLAIN.topic, "local") == other
    assert other.max_delivery_attempts == 5


@pytest.mark.parametrize("attempts", [4, 101, 0, -5, 5.0, "5", True, None])
def test_other_numbers_of_attempts_are_refused(attempts: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"max_delivery_attempts: .* from 5 to 100"):
        fields.check_dead_letter_policy(DeadLetterPolicy("dead", attempts), PLAIN.topic, "local")


@pytest.mark.parametrize("name", ["plain", "projects/local/topics/plain"])
def test_a_topic_is_not_its_own_dead_letter_topic(name: str) -> None:
    # "must differ from the subscription's topic"
    with pytest.raises(InvalidArgument, match="is the subscription's own topic"):
        fields.check_dead_letter_policy(DeadLetterPolicy(name), PLAIN.topic, "local")


@pytest.mark.parametrize("policy", ["dead", {"dead_letter_topic": "dead"}, 7])
def test_a_dead_letter_policy_is_a_dead_letter_policy(policy: Any) -> None:
    with pytest.raises(InvalidArgument, match="is not a DeadLetterPolicy"):
        fields.check_dead_letter_policy(policy, PLAIN.topic, "local")


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_a_switch_is_on_or_off(value: Any) -> None:
    assert check_switch(True, "enable_message_ordering")
    with pytest.raises(
        InvalidArgument, match=r"enable_message_ordering: .* neither True nor False"
    ):
        check_switch(value, "enable_message_ordering")


# Expiration


@pytest.mark.parametrize("ttl", ["1d", "31d", timedelta(days=1), 86_401, "400d"])
def test_an_idle_subscription_is_kept_for_at_least_a_day(ttl: Any) -> None:
    # "`expiration_policy` (ttl) | 31 d | ≥ 1 d"
    policy = ExpirationPolicy(ttl)
    assert fields.check_expiration_policy(policy, timedelta(hours=1)) is policy


def test_an_idle_subscription_is_kept_for_a_hundred_years_at_most() -> None:
    """ "up to 36500d, or none for never, is accepted"."""
    longest = ExpirationPolicy("36500d")
    assert fields.check_expiration_policy(longest, timedelta(days=7)) is longest
    with pytest.raises(InvalidArgument, match="up to 36500d"):
        fields.check_expiration_policy(ExpirationPolicy(timedelta(36_500, 1)), timedelta(days=7))


@pytest.mark.parametrize("ttl", ["23h59m59s", 0, -1, timedelta(hours=1)])
def test_a_shorter_ttl_is_refused(ttl: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"expiration_policy\.ttl: .* 1d or more, or none"):
        fields.check_expiration_policy(ExpirationPolicy(ttl), timedelta(minutes=10))


def test_a_ttl_is_longer_than_the_retention_of_messages() -> None:
    # "and > `message_retention_duration`"
    policy = ExpirationPolicy("2d")
    assert fields.check_expiration_policy(policy, timedelta(days=2, seconds=-1)) is policy
    with pytest.raises(InvalidArgument, match=r"expiration_policy\.ttl: 2d is not longer .* 2d"):
        fields.check_expiration_policy(policy, timedelta(days=2))


def test_no_policy_is_the_default_and_no_ttl_is_never() -> None:
    # "31 d … "never" possible"
    retention = timedelta(days=7)
    default = fields.check_expiration_policy(None, retention)
    assert default == ExpirationPolicy() == ExpirationPolicy("31d")
    never = ExpirationPolicy(ttl=None)
    assert fields.check_expiration_policy(never, retention) is never
    assert never.ttl is None


@pytest.mark.parametrize("policy", ["31d", timedelta(days=31), 7, {"ttl": "31d"}])
def test_an_expiration_policy_is_an_expiration_policy(policy: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"is not an ExpirationPolicy; .* means never"):
        fields.check_expiration_policy(policy, timedelta(days=7))


def test_a_ttl_is_a_duration() -> None:
    with pytest.raises(InvalidArgument, match=r"expiration_policy\.ttl: 'soon' is not a duration"):
        ExpirationPolicy("soon")
