"""Whole records of resources, as the command line prints them, and what a server tells of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("grpc")
pytest.importorskip("click")

from pubsub_delta.cli import rest
from pubsub_delta.cli.endpoint import resources
from pubsub_delta.cli.rest import UNKNOWN_TIME
from pubsub_delta.clock import UTC
from pubsub_delta.operations.history import TopicCommit
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    Message,
    NoWrapper,
    OidcToken,
    PushConfig,
    ReceivedMessage,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.schemas import Encoding, Schema, SchemaSettings, SchemaType
from pubsub_delta.server import wire
from pubsub_delta.server.schema_wire import schema_message
from pubsub_delta.table_config import TableConfig, TableState

TIME = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
TOPIC, NAME = "projects/p/topics/t", "projects/p/subscriptions/s"
LABELS = {"zone": "1", "env": "prod"}
DAY = timedelta(days=1)
PLAIN = Subscription(NAME, TOPIC, create_time=TIME, update_time=TIME + DAY)
PLAIN_RECORD = {
    "name": NAME,
    "topic": TOPIC,
    "ackDeadlineSeconds": 10,
    "messageRetentionDuration": "604800s",
    "state": "ACTIVE",
    "createTime": "2026-01-02T03:04:05.678901Z",
    "updateTime": "2026-01-03T03:04:05.678901Z",
    "expirationPolicy": {"ttl": "2678400s"},
    "pushConfig": {},
}
FULL = replace(
    PLAIN,
    ack_deadline_seconds=60,
    message_retention_duration=DAY,
    retain_acked_messages=True,
    expiration_policy=ExpirationPolicy("2d"),
    filter="attributes:a",
    enable_message_ordering=True,
    dead_letter_policy=DeadLetterPolicy("projects/p/topics/l", 7),
    retry_policy=RetryPolicy("1s", "2.5s"),
    labels=LABELS,
    detached=True,
    topic_message_retention_duration=2 * DAY,
    push_config=PushConfig(
        "https://a.b/c",
        {"x-b": "2", "x-a": "1"},
        NoWrapper(write_metadata=True),
        OidcToken("a@b.c", "who"),
    ),
)
FULL_RECORD = {
    **PLAIN_RECORD,
    "ackDeadlineSeconds": 60,
    "messageRetentionDuration": "86400s",
    "retainAckedMessages": True,
    "filter": "attributes:a",
    "enableMessageOrdering": True,
    "deadLetterPolicy": {"deadLetterTopic": "projects/p/topics/l", "maxDeliveryAttempts": 7},
    "retryPolicy": {"minimumBackoff": "1s", "maximumBackoff": "2.5s"},
    "labels": {"env": "prod", "zone": "1"},
    "detached": True,
    "topicMessageRetentionDuration": "172800s",
    "expirationPolicy": {"ttl": "172800s"},
    "pushConfig": {
        "pushEndpoint": "https://a.b/c",
        "attributes": {"x-a": "1", "x-b": "2"},
        "oidcToken": {"serviceAccountEmail": "a@b.c", "audience": "who"},
        "noWrapper": {"writeMetadata": True},
    },
}
WRITING = replace(
    PLAIN,
    enable_exactly_once_delivery=True,
    expiration_policy=ExpirationPolicy(None),
    table_config=TableConfig(
        "lake.orders",
        use_table_schema=True,
        write_metadata=True,
        drop_unknown_fields=True,
        state=TableState.SCHEMA_MISMATCH,
    ),
)
WRITING_RECORD = {
    **PLAIN_RECORD,
    "enableExactlyOnceDelivery": True,
    "state": "RESOURCE_ERROR",
    "expirationPolicy": {},
    "bigqueryConfig": {
        "table": "lake.orders",
        "useTableSchema": True,
        "writeMetadata": True,
        "dropUnknownFields": True,
        "state": "SCHEMA_MISMATCH",
    },
}
SUBSCRIPTIONS = [(PLAIN, PLAIN_RECORD), (FULL, FULL_RECORD), (WRITING, WRITING_RECORD)]
NAMED = SchemaSettings("projects/p/schemas/c", Encoding.JSON, "0a1b2c3d", "4e5f6a7b")
TOPICS: list[tuple[Topic, dict[str, Any]]] = [
    (
        Topic(TOPIC, create_time=TIME),
        {"name": TOPIC, "state": "ACTIVE", "createTime": "2026-01-02T03:04:05.678901Z"},
    ),
    (
        Topic(TOPIC, DAY, labels=LABELS, create_time=TIME, schema_settings=NAMED),
        {
            "name": TOPIC,
            "labels": {"env": "prod", "zone": "1"},
            "messageRetentionDuration": "86400s",
            "schemaSettings": {
                "schema": "projects/p/schemas/c",
                "encoding": "JSON",
                "firstRevisionId": "0a1b2c3d",
                "lastRevisionId": "4e5f6a7b",
            },
            "state": "ACTIVE",
            "createTime": "2026-01-02T03:04:05.678901Z",
        },
    ),
]


def as_printed(record: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields of a record in order, so that their order is compared as well."""
    return [
        (key, as_printed(value) if isinstance(value, dict) else value)
        for key, value in record.items()
    ]


def in_order_of_fields(record: dict[str, Any], fields: list[str]) -> list[str]:
    return [each for each in fields if each in record]


ORDER = [
    *("name", "topic", "ackDeadlineSeconds", "messageRetentionDuration", "retainAckedMessages"),
    *("filter", "enableMessageOrdering", "enableExactlyOnceDelivery", "deadLetterPolicy"),
    *("retryPolicy", "bigqueryConfig", "labels", "detached", "topicMessageRetentionDuration"),
    *("state", "createTime", "updateTime", "expirationPolicy", "pushConfig"),
]


@pytest.mark.parametrize(("subscription", "record"), SUBSCRIPTIONS)
def test_a_subscription_is_this_record(subscription: Subscription, record: dict[str, Any]) -> None:
    """REST's resource ``projects.subscriptions``: fields that are empty are absent."""
    found = rest.subscription_record(subscription)
    assert found == record
    assert list(found) == in_order_of_fields(record, ORDER)
    if "labels" in record:
        assert list(found["labels"]) == ["env", "zone"]
        assert list(found["pushConfig"]["attributes"]) == ["x-a", "x-b"]


@pytest.mark.parametrize("state", [None, *TableState])
def test_a_subscription_is_in_error_while_its_table_is_refused(state: TableState | None) -> None:
    """ "RESOURCE_ERROR: The subscription cannot receive messages because of an error"."""
    config = TableConfig("lake.orders", use_topic_schema=True, state=state)
    record = rest.subscription_record(replace(PLAIN, table_config=config))
    shown = {} if state is None else {"state": state.value}
    assert record["bigqueryConfig"] == {"table": "lake.orders", "useTopicSchema": True, **shown}
    assert (record["state"] == "ACTIVE") is (state in (None, TableState.ACTIVE))


@pytest.mark.parametrize(("topic", "record"), TOPICS)
def test_a_topic_is_this_record(topic: Topic, record: dict[str, Any]) -> None:
    assert as_printed(rest.topic_record(topic)) == as_printed(record)


SCHEMA = Schema("projects/p/schemas/c", SchemaType.AVRO, "{}", "0a1b2c3d", TIME, "0" * 32)
SNAPSHOT = Snapshot("projects/p/snapshots/n", TOPIC, TIME, LABELS, TIME - DAY, "0" * 32)
RECEIVED = ReceivedMessage("id", "7", TIME, b"\xff\xfe", {"b": "2", "a": "1"}, "key", 5)


def test_other_resources_are_these_records() -> None:
    time = "2026-01-02T03:04:05.678901Z"
    assert as_printed(rest.schema_record(SCHEMA)) == as_printed(
        {
            "name": "projects/p/schemas/c",
            "type": "AVRO",
            "definition": "{}",
            "revisionId": "0a1b2c3d",
            "revisionCreateTime": time,
        }
    )
    snapshot = {
        "name": "projects/p/snapshots/n",
        "topic": TOPIC,
        "expireTime": time,
        "labels": {"env": "prod", "zone": "1"},
        "createTime": "2026-01-01T03:04:05.678901Z",
    }
    ids = {"projectId": "p", "snapshotId": "n", "topicId": "t"}
    assert as_printed(rest.snapshot_record(SNAPSHOT)) == as_printed(snapshot)
    assert as_printed(rest.listed_snapshot_record(SNAPSHOT)) == as_printed({**snapshot, **ids})
    message = {
        "data": "//4=",
        "attributes": {"a": "1", "b": "2"},
        "messageId": "7",
        "publishTime": time,
        "orderingKey": "key",
    }
    assert as_printed(rest.received_record(RECEIVED)) == as_printed(
        {"ackId": "id", "deliveryAttempt": 5, "message": message}
    )
    empty = replace(RECEIVED, data=b"", attributes={}, ordering_key="", delivery_attempt=None)
    assert rest.received_record(empty) == {
        "ackId": "id",
        "message": {"messageId": "7", "publishTime": time},
    }
    assert rest.message_record(Message(b"a"), "8", TIME) == {
        "data": "YQ==",
        "messageId": "8",
        "publishTime": time,
    }


def test_a_commit_tells_zero_and_leaves_out_what_is_unknown() -> None:
    time = "2026-01-02T03:04:05.678901Z"
    assert rest.commit_record(TopicCommit(0, TIME, "publish", 0, "id", ("app", 0))) == {
        "version": 0,
        "time": time,
        "operation": "publish",
        "messageCount": 0,
        "publishId": "id",
        "idempotencyId": {"applicationId": "app", "version": 0},
    }
    assert rest.commit_record(TopicCommit(3, TIME, "optimize", None)) == {
        "version": 3,
        "time": time,
        "operation": "optimize",
    }


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, ""), (1, ".000001"), (1_000, ".001"), (500_000, ".500"), (1_500, ".001500")],
)
def test_times_and_durations_have_the_digits_that_they_need(micros: int, text: str) -> None:
    assert rest.time_text(TIME.replace(microsecond=micros)) == f"2026-01-02T03:04:05{text}Z"
    duration = timedelta(seconds=5, microseconds=micros)
    assert rest.duration_text(duration) == f"5{text.rstrip('0')}s"
    nested = {1: [TIME.replace(microsecond=micros), (duration, "5", None)]}
    assert rest.plain(nested) == {
        "1": [f"2026-01-02T03:04:05{text}Z", [f"5{text.rstrip('0')}s", "5", None]]
    }


# What a server tells is what it has; a client has neither uids nor some times


@pytest.mark.parametrize("subscription", [each for each, _ in SUBSCRIPTIONS])
def test_a_subscription_comes_back_from_a_server(subscription: Subscription) -> None:
    found = resources.subscription_of(wire.subscription_message(subscription))
    assert found == replace(subscription, create_time=UNKNOWN_TIME, update_time=UNKNOWN_TIME)
    if subscription.table_config is not None and found.table_config is not None:
        assert found.table_config.state == subscription.table_config.state


def test_a_subscription_of_which_little_is_told_has_the_defaults_of_pubsub() -> None:
    """Pub/Sub: "Defaults to 7 days" and "ttl of 31 days", as of a response that leaves them out."""
    message = wire.subscription_message(PLAIN)
    for field in ("message_retention_duration", "expiration_policy"):
        message.ClearField(field)
    found = resources.subscription_of(message)
    assert found == replace(PLAIN, create_time=UNKNOWN_TIME, update_time=UNKNOWN_TIME)


@pytest.mark.parametrize("topic", [each for each, _ in TOPICS])
def test_a_topic_comes_back_from_a_server(topic: Topic) -> None:
    found = resources.topic_of(wire.topic_message(topic))
    assert found == replace(topic, create_time=UNKNOWN_TIME)


def test_other_resources_come_back_from_a_server() -> None:
    assert resources.schema_of(schema_message(SCHEMA)) == replace(SCHEMA, uid="")
    snapshot = resources.snapshot_of(wire.snapshot_message(SNAPSHOT))
    assert snapshot == replace(SNAPSHOT, create_time=UNKNOWN_TIME, uid="")
    for received in (RECEIVED, replace(RECEIVED, delivery_attempt=None)):
        assert resources.received_of(wire.received_message(received)) == received


def test_a_finer_time_of_another_server_is_not_told_later_than_it_is() -> None:
    message, schema = wire.snapshot_message(SNAPSHOT), schema_message(SCHEMA)
    message.expire_time.nanos += 999
    schema.revision_create_time.nanos += 999
    delivery = wire.received_message(RECEIVED)
    delivery.message.publish_time.nanos += 999
    assert resources.snapshot_of(message).expire_time == TIME
    assert resources.schema_of(schema).revision_create_time == TIME
    assert resources.received_of(delivery).publish_time == TIME
    schema.ClearField("revision_create_time")
    assert resources.schema_of(schema).revision_create_time == UNKNOWN_TIME
