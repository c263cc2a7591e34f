"""Which fields an update may change, and to what (spec sections 1 to 3, 8 and 11)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy import fields
from pubsub_delta.resources import ExpirationPolicy, Snapshot
from tests.unit.builders import DAY, HOUR, PLAIN, START, at

SNAPSHOT = Snapshot(
    name="projects/local/snapshots/plain",
    topic=PLAIN.topic,
    expire_time=at(5 * DAY),
    labels={},
    create_time=START,
    uid="2" * 32,
)


def update(changes: dict[str, Any]) -> dict[str, Any]:
    return fields.check_subscription_update(changes, PLAIN, "local")


def test_an_update_changes_only_the_named_fields() -> None:
    # "only the named fields change"
    assert update({}) == {}
    assert update({"labels": None}) == {"labels": {}}
    assert update({"ack_deadline_seconds": 0, "message_retention_duration": "10m"}) == {
        "ack_deadline_seconds": 10,
        "message_retention_duration": timedelta(minutes=10),
    }
    assert update({"retain_acked_messages": True}) == {"retain_acked_messages": True}
    assert fields.check_topic_update({"labels": {"a": "b"}}) == {"labels": {"a": "b"}}
    assert fields.check_topic_update({"message_retention_duration": "31d"}) == {
        "message_retention_duration": timedelta(days=31)
    }


def test_an_update_may_clear_what_is_optional() -> None:
    # "None clears an optional one"
    assert update({"expiration_policy": None}) == {"expiration_policy": ExpirationPolicy("31d")}
    cleared = {"dead_letter_policy": None, "retry_policy": None}
    assert update(cleared) == cleared
    off = {"message_retention_duration": None}
    assert fields.check_topic_update(off) == off


@pytest.mark.parametrize(
    "field",
    [
        "name",
        "topic",
        "filter",
        "enable_message_ordering",
        "detached",
        "topic_message_retention_duration",
        "create_time",
        "update_time",
        "uid",
    ],
)
def test_an_update_of_an_immutable_field_is_refused(field: str) -> None:
    # "unknown or immutable field refused"
    with pytest.raises(InvalidArgument, match=f"'{field}' cannot be changed"):
        update({"labels": {}, field: "x"})


@pytest.mark.parametrize("field", ["ttl", "ack_deadline", "", "Labels"])
def test_an_update_of_an_unknown_field_is_refused(field: str) -> None:
    accepted = (
        "ack_deadline_seconds, dead_letter_policy, enable_exactly_once_delivery, "
        "expiration_policy, labels, message_retention_duration, push_config, "
        "retain_acked_messages, retry_policy"
    )
    of_topics, of_snapshots = "labels, message_retention_duration", "expire_time, labels"
    with pytest.raises(InvalidArgument, match=f"'{field}' is not a field; .*: {accepted}"):
        update({field: "x"})
    with pytest.raises(InvalidArgument, match=f"'{field}' is not a field; .*: {of_topics}"):
        fields.check_topic_update({field: "x"})
    with pytest.raises(InvalidArgument, match=f"'{field}' is not a field; .*: {of_snapshots}"):
        fields.check_snapshot_update({field: "x"}, SNAPSHOT, at(0))


@pytest.mark.parametrize("field", ["name", "retained_from", "create_time", "uid"])
def test_an_immutable_field_of_a_topic_is_refused(field: str) -> None:
    with pytest.raises(InvalidArgument, match=f"'{field}' cannot be changed"):
        fields.check_topic_update({field: "x"})


@pytest.mark.parametrize("field", ["name", "topic", "create_time", "uid"])
def test_an_immutable_field_of_a_snapshot_is_refused(field: str) -> None:
    with pytest.raises(InvalidArgument, match=f"'{field}' cannot be changed"):
        fields.check_snapshot_update({field: "x"}, SNAPSHOT, at(0))


def test_an_update_checks_its_values() -> None:
    # "A request is validated whole before anything is written."
    with pytest.raises(InvalidArgument, match="ack_deadline_seconds"):
        update({"labels": {"a": "b"}, "ack_deadline_seconds": 5})
    with pytest.raises(InvalidArgument, match="labels"):
        fields.check_topic_update({"labels": {"": "b"}})
    with pytest.raises(InvalidArgument, match="retain_acked_messages: 'yes' is neither"):
        update({"labels": {}, "retain_acked_messages": "yes"})
    with pytest.raises(InvalidArgument, match="message_retention_duration"):
        fields.check_topic_update({"labels": {}, "message_retention_duration": "32d"})


def test_an_update_keeps_the_ttl_longer_than_the_retention() -> None:
    # "≥ 1 d and > `message_retention_duration`", whichever of the two changes
    short = replace(PLAIN, message_retention_duration=timedelta(days=1))
    short = replace(short, expiration_policy=ExpirationPolicy("2d"))

    def change(**changes: Any) -> dict[str, Any]:
        return fields.check_subscription_update(changes, short, "local")

    assert change(message_retention_duration="47h") == {
        "message_retention_duration": timedelta(hours=47)
    }
    with pytest.raises(InvalidArgument, match=r"ttl: 2d is not longer .* of 2d"):
        change(message_retention_duration="2d")
    with pytest.raises(InvalidArgument, match=r"ttl: 1d is not longer .* of 1d"):
        change(expiration_policy=ExpirationPolicy("1d"))
    both = {"message_retention_duration": "7d", "expiration_policy": ExpirationPolicy("8d")}
    assert change(**both) == {**both, "message_retention_duration": timedelta(days=7)}


@pytest.mark.parametrize("policy", ["31d", timedelta(days=31), {"ttl": "31d"}])
def test_an_expiration_policy_is_updated_by_an_expiration_policy(policy: Any) -> None:
    with pytest.raises(InvalidArgument, match="is not an ExpirationPolicy"):
        update({"expiration_policy": policy})


# Snapshots


def change_snapshot(now: float = 0, **changes: Any) -> dict[str, Any]:
    return fields.check_snapshot_update(changes, SNAPSHOT, at(now))


def test_an_update_of_a_snapshot_changes_labels_and_expire_time() -> None:
    # "`update_snapshot` changes labels and expire_time"
    assert change_snapshot() == {}
    assert change_snapshot(labels=None) == {"labels": {}}
    changes: dict[str, Any] = {"labels": {"a": "b"}, "expire_time": at(DAY)}
    assert change_snapshot(**changes) == changes
    with pytest.raises(InvalidArgument, match="labels"):
        change_snapshot(labels={"": "b"})


@pytest.mark.parametrize("seconds", [2 * HOUR + 1e-6, 3 * HOUR, 5 * DAY, 7 * DAY])
def test_a_snapshot_expires_in_the_future_and_within_7_days_of_its_creation(seconds: float) -> None:
    # "An updated `expire_time` must lie in the future and at most 7 d after creation"
    time = at(seconds)
    assert change_snapshot(now=2 * HOUR, expire_time=time) == {"expire_time": time}


@pytest.mark.parametrize("seconds", [-DAY, 0, 2 * HOUR, 7 * DAY + 1e-6, 30 * DAY])
def test_any_other_expire_time_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidArgument, match=r"expire_time: .* is out of range"):
        change_snapshot(now=2 * HOUR, expire_time=at(seconds))


def test_an_expire_time_is_an_aware_time() -> None:
    # "A naive `datetime` is refused, not guessed"
    with pytest.raises(InvalidArgument, match=r"expire_time: .* has no time zone"):
        change_snapshot(expire_time=datetime(2026, 1, 2))
    elsewhere = at(DAY).astimezone(timezone(timedelta(hours=-5)))
    assert change_snapshot(expire_time=elsewhere) == {"expire_time": at(DAY)}
    assert change_snapshot(expire_time=elsewhere)["expire_time"].utcoffset() == timedelta(0)


@pytest.mark.parametrize("value", [None, "1d", 86_400, "2026-01-02", timedelta(days=1)])
def test_an_expire_time_is_a_time(value: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"expire_time: .* is not a time"):
        change_snapshot(expire_time=value)
