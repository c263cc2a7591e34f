"""What the registry has stored of a resource is read back as it was, in every field."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, replace
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.policy.push_configs import PUSH_ATTRIBUTES
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    NoWrapper,
    OidcToken,
    PushConfig,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.schemas import Encoding, SchemaSettings
from pubsub_delta.table_config import TableConfig
from pubsub_delta.tables.registry.predicates import with_retention, with_stored_topic
from pubsub_delta.tables.registry.rows import (
    columns_of,
    columns_of_fields,
    snapshot_of,
    subscription_of,
    topic_of,
)
from tests.unit.builders import at

TOPIC = Topic(
    name="projects/p/topics/flights",
    message_retention_duration=timedelta(days=3, microseconds=1),
    retained_from=at(1),
    labels={"team": "gates"},
    create_time=at(2),
    uid=f"{1:032x}",
    schema_settings=SchemaSettings("projects/p/schemas/s", Encoding.BINARY, "0" * 8, "f" * 8),
)
SUBSCRIPTION = Subscription(
    name="projects/p/subscriptions/gate",
    topic=TOPIC.name,
    ack_deadline_seconds=77,
    message_retention_duration=timedelta(hours=1, microseconds=1),
    retain_acked_messages=True,
    expiration_policy=ExpirationPolicy("2d"),
    filter="attributes:a",
    enable_message_ordering=True,
    enable_exactly_once_delivery=True,
    dead_letter_policy=DeadLetterPolicy("projects/p/topics/letters", 7),
    retry_policy=RetryPolicy("1.5s", "2.5s"),
    labels={"team": "gates"},
    detached=True,
    create_time=at(1),
    update_time=at(2),
    uid=f"{2:032x}",
    push_config=PushConfig(
        "https://h/p", dict(PUSH_ATTRIBUTES), NoWrapper(True), OidcToken("me@p", "https://h")
    ),
    table_config=TableConfig("p.d.t", True, True, True, True),
)
SNAPSHOT = Snapshot("projects/p/snapshots/s", TOPIC.name, at(9), {"a": "b"}, at(3), f"{3:032x}")
READ: list[tuple[Any, Any]] = [
    (TOPIC, topic_of),
    (SUBSCRIPTION, subscription_of),
    (SNAPSHOT, snapshot_of),
]
_OF_THE_TOPIC, _WHEN_IT_IS_READ = "topic_message_retention_duration", "state"


def default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def unlike_by_default(value: Any) -> list[str]:
    """Return the fields of a value, and of values in it, that are as they are by default."""
    found = []
    for field in fields(value):
        own = getattr(value, field.name)
        if own == default_of(field):
            found.append(field.name)
        elif hasattr(own, "__dataclass_fields__"):
            found += unlike_by_default(own)
    return found


def test_each_field_of_the_cases_is_another_than_by_default() -> None:
    found = [name for resource, _ in READ for name in unlike_by_default(resource)]
    assert sorted(found) == [_WHEN_IT_IS_READ, _OF_THE_TOPIC]


@pytest.mark.parametrize(("resource", "read"), READ, ids=["topic", "subscription", "snapshot"])
def test_every_field_is_read_back(resource: Any, read: Any) -> None:
    assert read(columns_of(resource)) == resource


@pytest.mark.parametrize(
    ("resource", "read", "name"),
    [
        (resource, read, field.name)
        for resource, read in READ
        for field in fields(resource)
        if default_of(field) is None and field.name != _OF_THE_TOPIC
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_field_that_is_taken_away_is_gone(resource: Any, read: Any, name: str) -> None:
    """A change writes the columns of its fields only, and leaves nothing of what was there."""
    changed = {**columns_of(resource), **columns_of_fields({name: None})}
    plain = read(changed)
    assert getattr(plain, name) is None
    assert columns_of(plain) == changed


def test_a_backoff_of_zero_is_one() -> None:
    """ "each 0–600 s": nothing of it is the same as no policy, or as the default."""
    for policy in (RetryPolicy("0s", "0s"), RetryPolicy("0s", "600s")):
        stored = replace(SUBSCRIPTION, retry_policy=policy)
        assert subscription_of(columns_of(stored)).retry_policy == policy


def test_what_follows_from_a_topic_follows_while_it_is_there() -> None:
    """ "the topic field will be set to _deleted-topic_" once the topic is deleted."""
    gone = "_deleted-topic_"
    assert with_stored_topic(SNAPSHOT, TOPIC) == SNAPSHOT
    assert with_stored_topic(SNAPSHOT, None) == replace(SNAPSHOT, topic=gone)
    kept = TOPIC.message_retention_duration
    stored = replace(SUBSCRIPTION, topic_message_retention_duration=timedelta(9))
    for topic, name, duration in [
        (TOPIC, TOPIC.name, kept),
        (replace(TOPIC, message_retention_duration=None), TOPIC.name, None),
        (None, gone, None),
    ]:
        wanted = replace(SUBSCRIPTION, topic=name, topic_message_retention_duration=duration)
        assert with_retention(stored, topic) == wanted
