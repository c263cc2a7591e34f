"""Every field of create and update, given anything: refused, or kept so that it can be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta.policy import fields as rules
from pubsub_delta.policy.arguments import check_switch
from pubsub_delta.resources import (
    BatchSettings,
    DeadLetterPolicy,
    ExpirationPolicy,
    FlowControl,
    RetryPolicy,
    Snapshot,
)
from pubsub_delta.tables.registry.rows import columns_of_fields
from tests.unit.builders import PLAIN, START
from tests.unit.hostile import is_refusal, outcome, texts, values

WEEK = timedelta(days=7)
SNAPSHOT = Snapshot("projects/p/snapshots/nnn", PLAIN.topic, START + WEEK, {}, START, "0" * 32)

policies = st.one_of(
    st.builds(DeadLetterPolicy, values, values),
    values.map(lambda value: outcome(lambda: ExpirationPolicy(value))),
    st.tuples(values, values).map(lambda both: outcome(lambda: RetryPolicy(*both))),
)
anything = st.one_of(values, policies, st.datetimes())
updates = st.dictionaries(
    st.one_of(st.sampled_from([*vars(PLAIN), "expire_time", "__class__", "labels; DROP"]), texts),
    anything,
    max_size=4,
)


def storable(value: Any) -> bool:
    """Tell whether a column takes a value: texts are UTF-8, numbers have 64 bits."""
    match value:
        case str():
            return bool(value.encode("utf-8", "ignore").decode() == value)
        case int():
            return -(2**63) <= value < 2**63
        case Mapping():
            return all(storable(each) for pair in value.items() for each in pair)
        case datetime():
            return value.utcoffset() is not None
    return value is None


def parts(value: object) -> Iterator[object]:
    """Return a value and all that it holds: an error may name any of it."""
    yield value
    if isinstance(value, Mapping):
        for pair in value.items():
            yield from pair
    elif hasattr(value, "__dict__"):
        yield from vars(value).values()


CHECKS: dict[str, Callable[[Any], Any]] = {
    "labels": rules.check_labels,
    "ack_deadline_seconds": rules.check_ack_deadline,
    "message_retention_duration": rules.check_subscription_retention,
    "message_retention_duration of a topic": rules.check_topic_retention,
    "expiration_policy": lambda value: rules.check_expiration_policy(value, WEEK),
    "retry_policy": rules.check_retry_policy,
    "dead_letter_policy": lambda value: rules.check_dead_letter_policy(value, PLAIN.topic, "local"),
    "retain_acked_messages": lambda value: check_switch(value, "retain_acked_messages"),
    "max_messages": rules.check_max_messages,
    "ack_deadline_seconds of a delivery": rules.check_new_deadline,
}


@pytest.mark.parametrize("named", CHECKS)
@given(value=anything)
@example(value={"a": "\ud800"})
@example(value=ExpirationPolicy(timedelta.max))
@example(value=RetryPolicy(600, 0))
@example(value=ExpirationPolicy(timedelta(microseconds=2**63 - 1)))
def test_a_field_takes_a_value_that_can_be_stored_or_refuses_it(named: str, value: Any) -> None:
    field = named.partition(" of ")[0]
    told = outcome(lambda: CHECKS[named](value))
    if isinstance(told, Exception):
        text = str(told)
        assert text.startswith((field, "topic: "))  # of a policy: its dead-letter topic
        if isinstance(value, (ExpirationPolicy, RetryPolicy)):  # durations are told as written
            assert "accepted" in text or is_refusal(told, value)
        else:
            assert is_refusal(told, *parts(value))
    elif named not in ("max_messages", "ack_deadline_seconds of a delivery"):
        assert all(storable(each) for each in columns_of_fields({field: told}).values())


@pytest.mark.parametrize(
    "check",
    [
        lambda fields: rules.check_subscription_update(fields, PLAIN, "local"),
        rules.check_topic_update,
        lambda fields: rules.check_snapshot_update(fields, SNAPSHOT, START),
    ],
    ids=["subscription", "topic", "snapshot"],
)
@given(fields=updates)
def test_an_update_names_fields_that_can_change_or_is_refused(
    check: Callable[[Mapping[str, Any]], dict[str, Any]], fields: dict[str, Any]
) -> None:
    told = outcome(lambda: check(fields))
    if isinstance(told, dict):
        assert told.keys() == fields.keys()
        assert not told.keys() & set(rules.IMMUTABLE_FIELDS)
        assert all(storable(each) for each in columns_of_fields(told).values())
    else:
        assert any(str(told).startswith((name, repr(name), "topic: ")) for name in fields)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (FlowControl, "max_messages"),
        (FlowControl, "max_bytes"),
        (FlowControl, "max_lease_duration"),
        (BatchSettings, "max_messages"),
        (BatchSettings, "max_bytes"),
        (BatchSettings, "max_latency"),
    ],
)
@given(value=values)
def test_settings_take_a_value_or_refuse_it(
    settings: Callable[..., object], field: str, value: object
) -> None:
    told = outcome(lambda: settings(**{field: value}))
    if isinstance(told, Exception):
        assert f"settings.{field}: " in str(told) or f"control.{field}: " in str(told)
        assert "negative" in str(told) or is_refusal(told, value)


@given(st.dictionaries(st.text(max_size=70), st.text(max_size=70), max_size=3))
def test_labels_are_kept_as_they_were_or_refused(labels: dict[str, str]) -> None:
    fits = all(1 <= len(key) <= 63 and len(value) <= 63 for key, value in labels.items())
    told = outcome(lambda: rules.check_labels(labels))
    assert (told == labels) == (fits and storable(labels))


def test_a_ttl_that_no_column_holds_is_refused() -> None:
    # "Every error says what was wrong, the offending value, and what would be accepted."
    assert rules.check_expiration_policy(ExpirationPolicy("36500d"), WEEK).ttl is not None
    told = outcome(lambda: rules.check_expiration_policy(ExpirationPolicy("36501d"), WEEK))
    assert str(told) == (
        "expiration_policy.ttl: 36501d is out of range; "
        "up to 36500d, or none for never, is accepted"
    )
