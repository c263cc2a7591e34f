"""Raw calls of google.pubsub.v1, one after the other, for two servers that are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pubsub_delta.server.grpc_services import IAM_POLICY, PUBLISHER, SCHEMA_SERVICE, SUBSCRIBER

P = "projects/compared"
TOPIC, DEAD = f"{P}/topics/flights", f"{P}/topics/flights-dead"
SUBSCRIPTION = f"{P}/subscriptions/flights"
SNAPSHOT = f"{P}/snapshots/flights"
SCHEMA = f"{P}/schemas/flights"
AVRO = '{"type":"record","name":"F","fields":[{"name":"a","type":"string"}]}'
ANY = object()
"""In a request: the ack ids of the last pull."""


@dataclass(frozen=True)
class Call:
    """A call, and under which name its outcome is told."""

    name: str
    service: str
    method: str
    fields: dict[str, Any] = field(default_factory=dict)


def calls() -> Iterator[Call]:
    """All calls, in their order."""
    for group in (
        _topics,
        _publishes,
        _subscriptions,
        _pulls,
        _replays,
        _schemas,
        _policies,
        _ends,
    ):
        names = set[str]()
        for service, method, name, fields in group():
            told = f"{method}: {name}"
            assert told not in names
            names.add(told)
            yield Call(told, service, method, fields)


Row = tuple[str, str, str, dict[str, Any]]


def _topics() -> Iterator[Row]:
    create, get, listed = "CreateTopic", "GetTopic", "ListTopics"
    yield PUBLISHER, create, "new", {"name": TOPIC}
    yield PUBLISHER, create, "again", {"name": TOPIC}
    yield PUBLISHER, create, "with labels", {"name": DEAD, "labels": {"a": "b"}}
    yield PUBLISHER, create, "no name", {}
    yield PUBLISHER, create, "bad name", {"name": "flights"}
    yield PUBLISHER, create, "short id", {"name": f"{P}/topics/a"}
    yield PUBLISHER, create, "id that begins with goog", {"name": f"{P}/topics/google"}
    yield PUBLISHER, create, "id with a space", {"name": f"{P}/topics/a b c"}
    yield PUBLISHER, create, "id that begins with a digit", {"name": f"{P}/topics/1abc"}
    yield PUBLISHER, create, "a subscription's name", {"name": SUBSCRIPTION}
    retained = {"name": f"{P}/topics/retained", "message_retention_duration": {"seconds": 3600}}
    yield PUBLISHER, create, "with retention", retained
    short = {"name": f"{P}/topics/short", "message_retention_duration": {"seconds": 5}}
    yield PUBLISHER, create, "with too short a retention", short
    yield (
        PUBLISHER,
        create,
        "with a schema that is absent",
        {
            "name": f"{P}/topics/schema",
            "schema_settings": {"schema": f"{P}/schemas/none", "encoding": 1},
        },
    )
    yield PUBLISHER, get, "there", {"topic": TOPIC}
    yield PUBLISHER, get, "labels", {"topic": DEAD}
    yield PUBLISHER, get, "absent", {"topic": f"{P}/topics/none"}
    yield PUBLISHER, get, "bad name", {"topic": "none"}
    yield PUBLISHER, get, "no name", {}
    yield PUBLISHER, listed, "all", {"project": P}
    yield PUBLISHER, listed, "one a page", {"project": P, "page_size": 1}
    yield PUBLISHER, listed, "negative page", {"project": P, "page_size": -1}
    yield PUBLISHER, listed, "bad token", {"project": P, "page_token": "bad"}
    yield PUBLISHER, listed, "bad project", {"project": "compared"}
    yield PUBLISHER, listed, "another project", {"project": "projects/other"}
    update = "UpdateTopic"
    labels = {"topic": {"name": TOPIC, "labels": {"c": "d"}}, "update_mask": {"paths": ["labels"]}}
    yield PUBLISHER, update, "labels", labels
    yield PUBLISHER, update, "no mask", {"topic": {"name": TOPIC}}
    unknown = {"topic": {"name": TOPIC}, "update_mask": {"paths": ["nothing"]}}
    yield PUBLISHER, update, "unknown field", unknown
    name = {"topic": {"name": TOPIC}, "update_mask": {"paths": ["name"]}}
    yield PUBLISHER, update, "its name", name
    absent = {"topic": {"name": f"{P}/topics/none"}, "update_mask": {"paths": ["labels"]}}
    yield PUBLISHER, update, "absent", absent


def _publishes() -> Iterator[Row]:
    cases: dict[str, list[dict[str, Any]]] = {
        "one": [{"data": b"a"}],
        "two with attributes": [
            {"data": b"a", "attributes": {"x": "y"}},
            {"attributes": {"x": ""}},
        ],
        "a key": [{"data": b"a", "ordering_key": "k"}],
        "empty message": [{}],
        "no messages": [],
        "an id that the client chose": [{"data": b"a", "message_id": "77"}],
        "attribute that begins with goog": [{"data": b"a", "attributes": {"googx": "y"}}],
        "client's traceparent": [{"data": b"a", "attributes": {"googclient_traceparent": "y"}}],
        "empty attribute key": [{"data": b"a", "attributes": {"": "y"}}],
        "long attribute key": [{"data": b"a", "attributes": {"k" * 257: "y"}}],
        "long attribute value": [{"data": b"a", "attributes": {"k": "v" * 1025}}],
        "101 attributes": [{"data": b"a", "attributes": {f"k{n}": "v" for n in range(101)}}],
        "long key": [{"data": b"a", "ordering_key": "k" * 1025}],
        "1,001 messages": [{"data": b"a"}] * 1001,
        "10,000,001 bytes": [{"data": b"a" * 10_000_001}],
        "11,000,000 bytes of two": [{"data": b"a" * 5_500_000}] * 2,
    }
    for name, messages in cases.items():
        yield PUBLISHER, "Publish", name, {"topic": TOPIC, "messages": messages}
    absent = {"topic": f"{P}/topics/none", "messages": [{"data": b"a"}]}
    yield PUBLISHER, "Publish", "absent topic", absent
    yield PUBLISHER, "Publish", "bad topic", {"topic": "none", "messages": [{"data": b"a"}]}


def _subscriptions() -> Iterator[Row]:
    create = "CreateSubscription"
    policy = {"dead_letter_topic": DEAD, "max_delivery_attempts": 5}
    cases: dict[str, dict[str, Any]] = {
        "new": {"name": SUBSCRIPTION},
        "again": {"name": SUBSCRIPTION},
        "absent topic": {"topic": f"{P}/topics/none"},
        "no topic": {"topic": ""},
        "bad name": {"name": "flights"},
        "a topic's name": {"name": TOPIC},
        "deadline of 9": {"ack_deadline_seconds": 9},
        "deadline of 601": {"ack_deadline_seconds": 601},
        "deadline of 600": {"ack_deadline_seconds": 600},
        "ordering": {"enable_message_ordering": True},
        "exactly once": {"enable_exactly_once_delivery": True},
        "filter": {"filter": 'attributes.x = "y"'},
        "bad filter": {"filter": "attributes.x ="},
        "long filter": {"filter": 'attributes.x = "' + "y" * 256 + '"'},
        "dead letters": {"dead_letter_policy": policy},
        "dead letters to nothing": {"dead_letter_policy": {"max_delivery_attempts": 5}},
        "4 attempts": {"dead_letter_policy": {**policy, "max_delivery_attempts": 4}},
        "101 attempts": {"dead_letter_policy": {**policy, "max_delivery_attempts": 101}},
        "retry": {"retry_policy": {"minimum_backoff": {"seconds": 5}}},
        "retry of 601": {"retry_policy": {"maximum_backoff": {"seconds": 601}}},
        "retry upside down": {
            "retry_policy": {"minimum_backoff": {"seconds": 20}, "maximum_backoff": {"seconds": 10}}
        },
        "retention of 5 minutes": {"message_retention_duration": {"seconds": 300}},
        "retention of 32 days": {"message_retention_duration": {"seconds": 32 * 86400}},
        "retained acked": {"retain_acked_messages": True},
        "expires in 1 day": {
            "message_retention_duration": {"seconds": 600},
            "expiration_policy": {"ttl": {"seconds": 86400}},
        },
        "expires in an hour": {"expiration_policy": {"ttl": {"seconds": 3600}}},
        "never expires": {"expiration_policy": {}},
        "push": {"push_config": {"push_endpoint": "http://localhost:9/push"}},
        "push to no URL": {"push_config": {"push_endpoint": "nothing"}},
        "push exactly once": {
            "enable_exactly_once_delivery": True,
            "push_config": {"push_endpoint": "http://localhost:9/push"},
        },
    }
    for place, (name, fields) in enumerate(cases.items()):
        asked = {"name": f"{P}/subscriptions/case-{place}", "topic": TOPIC, **fields}
        yield SUBSCRIBER, create, name, asked
    yield SUBSCRIBER, "GetSubscription", "there", {"subscription": SUBSCRIPTION}
    yield SUBSCRIBER, "GetSubscription", "absent", {"subscription": f"{P}/subscriptions/none"}
    yield SUBSCRIBER, "ListSubscriptions", "two a page", {"project": P, "page_size": 2}
    yield PUBLISHER, "ListTopicSubscriptions", "there", {"topic": DEAD}
    yield PUBLISHER, "ListTopicSubscriptions", "absent", {"topic": f"{P}/topics/none"}
    changes: dict[str, tuple[dict[str, Any], list[str]]] = {
        "deadline": ({"ack_deadline_seconds": 20}, ["ack_deadline_seconds"]),
        "bad deadline": ({"ack_deadline_seconds": 1}, ["ack_deadline_seconds"]),
        "labels": ({"labels": {"e": "f"}}, ["labels"]),
        "filter": ({"filter": "attributes:x"}, ["filter"]),
        "topic": ({"topic": DEAD}, ["topic"]),
        "ordering": ({"enable_message_ordering": True}, ["enable_message_ordering"]),
        "no mask": ({}, []),
        "unknown field": ({}, ["nothing"]),
    }
    for name, (fields, paths) in changes.items():
        asked = {"subscription": {"name": SUBSCRIPTION, **fields}, "update_mask": {"paths": paths}}
        yield SUBSCRIBER, "UpdateSubscription", name, asked
    config = {"subscription": SUBSCRIPTION, "push_config": {}}
    yield SUBSCRIBER, "ModifyPushConfig", "to pull", config
    absent = {"subscription": f"{P}/subscriptions/none", "push_config": {}}
    yield SUBSCRIBER, "ModifyPushConfig", "absent", absent


def _pulls() -> Iterator[Row]:
    message = {"data": b"a", "attributes": {"x": "y"}, "ordering_key": "k"}
    yield PUBLISHER, "Publish", "to be pulled", {"topic": TOPIC, "messages": [message]}
    pull, ack, extend = "Pull", "Acknowledge", "ModifyAckDeadline"
    of = {"subscription": SUBSCRIPTION}
    soon = {**of, "return_immediately": True}
    yield SUBSCRIBER, pull, "one", {**of, "max_messages": 1}
    yield SUBSCRIBER, pull, "while it is leased", {**soon, "max_messages": 1}
    yield SUBSCRIBER, extend, "leased", {**of, "ack_ids": ANY, "ack_deadline_seconds": 30}
    yield SUBSCRIBER, extend, "601 seconds", {**of, "ack_ids": ANY, "ack_deadline_seconds": 601}
    yield SUBSCRIBER, extend, "-1 seconds", {**of, "ack_ids": ANY, "ack_deadline_seconds": -1}
    yield SUBSCRIBER, extend, "nack", {**of, "ack_ids": ANY, "ack_deadline_seconds": 0}
    yield SUBSCRIBER, pull, "after a nack", {**of, "max_messages": 5}
    yield SUBSCRIBER, ack, "leased", {**of, "ack_ids": ANY}
    yield SUBSCRIBER, ack, "again", {**of, "ack_ids": ANY}
    yield SUBSCRIBER, ack, "no ids", {**of, "ack_ids": []}
    yield SUBSCRIBER, ack, "no ack id", {**of, "ack_ids": ["nothing"]}
    yield SUBSCRIBER, extend, "no ids", {**of, "ack_ids": [], "ack_deadline_seconds": 10}
    yield SUBSCRIBER, extend, "no ack id", {**of, "ack_ids": ["no"], "ack_deadline_seconds": 10}
    none = {"subscription": f"{P}/subscriptions/none"}
    yield SUBSCRIBER, ack, "absent", {**none, "ack_ids": ["nothing"]}
    yield SUBSCRIBER, pull, "absent", {**none, "max_messages": 1}
    yield SUBSCRIBER, pull, "no messages", {**soon, "max_messages": 0}
    yield SUBSCRIBER, pull, "-1 messages", {**soon, "max_messages": -1}
    yield SUBSCRIBER, pull, "nothing there", {**soon, "max_messages": 1}
    pushed = {"subscription": f"{P}/subscriptions/case-27", "max_messages": 1}
    yield SUBSCRIBER, pull, "pushed", {**pushed, "return_immediately": True}


def _replays() -> Iterator[Row]:
    create = "CreateSnapshot"
    of = {"subscription": SUBSCRIPTION}
    yield SUBSCRIBER, create, "new", {**of, "name": SNAPSHOT}
    yield SUBSCRIBER, create, "again", {**of, "name": SNAPSHOT}
    absent = {"name": f"{P}/snapshots/other", "subscription": f"{P}/subscriptions/none"}
    yield SUBSCRIBER, create, "absent subscription", absent
    yield SUBSCRIBER, create, "bad name", {**of, "name": "flights"}
    yield SUBSCRIBER, "GetSnapshot", "there", {"snapshot": SNAPSHOT}
    yield SUBSCRIBER, "GetSnapshot", "absent", {"snapshot": f"{P}/snapshots/none"}
    yield SUBSCRIBER, "ListSnapshots", "all", {"project": P}
    yield PUBLISHER, "ListTopicSnapshots", "all", {"topic": TOPIC}
    labels = {
        "snapshot": {"name": SNAPSHOT, "labels": {"g": "h"}},
        "update_mask": {"paths": ["labels"]},
    }
    yield SUBSCRIBER, "UpdateSnapshot", "labels", labels
    yield SUBSCRIBER, "UpdateSnapshot", "no mask", {"snapshot": {"name": SNAPSHOT}}
    yield SUBSCRIBER, "Seek", "snapshot", {**of, "snapshot": SNAPSHOT}
    yield SUBSCRIBER, "Seek", "absent snapshot", {**of, "snapshot": f"{P}/snapshots/none"}
    yield SUBSCRIBER, "Seek", "time", {**of, "time": {"seconds": 1_700_000_000}}
    yield SUBSCRIBER, "Seek", "nowhere", of
    none = {"subscription": f"{P}/subscriptions/none", "time": {"seconds": 1_700_000_000}}
    yield SUBSCRIBER, "Seek", "absent subscription", none
    yield SUBSCRIBER, "DeleteSnapshot", "there", {"snapshot": SNAPSHOT}
    yield SUBSCRIBER, "DeleteSnapshot", "absent", {"snapshot": SNAPSHOT}


def _schemas() -> Iterator[Row]:
    of = {"parent": P, "schema_id": "flights"}
    avro = {"type_": 2, "definition": AVRO}
    yield SCHEMA_SERVICE, "CreateSchema", "new", {**of, "schema": avro}
    yield SCHEMA_SERVICE, "CreateSchema", "again", {**of, "schema": avro}
    bad = {**of, "schema_id": "other", "schema": {"type_": 2, "definition": "nothing"}}
    yield SCHEMA_SERVICE, "CreateSchema", "bad definition", bad
    yield SCHEMA_SERVICE, "GetSchema", "there", {"name": SCHEMA}
    yield SCHEMA_SERVICE, "GetSchema", "absent", {"name": f"{P}/schemas/none"}
    yield SCHEMA_SERVICE, "ListSchemas", "all", {"parent": P}
    yield SCHEMA_SERVICE, "ValidateSchema", "good", {"parent": P, "schema": avro}
    bad = {"parent": P, "schema": {"type_": 2, "definition": "nothing"}}
    yield SCHEMA_SERVICE, "ValidateSchema", "bad", bad
    message = {"parent": P, "name": SCHEMA, "message": b'{"a": "b"}', "encoding": 1}
    yield SCHEMA_SERVICE, "ValidateMessage", "good", message
    yield SCHEMA_SERVICE, "ValidateMessage", "bad", {**message, "message": b"{}"}
    yield SCHEMA_SERVICE, "DeleteSchema", "there", {"name": SCHEMA}
    yield SCHEMA_SERVICE, "DeleteSchema", "absent", {"name": SCHEMA}


def _policies() -> Iterator[Row]:
    yield IAM_POLICY, "GetIamPolicy", "topic", {"resource": TOPIC}
    yield IAM_POLICY, "GetIamPolicy", "absent", {"resource": f"{P}/topics/none"}
    asked = {"resource": TOPIC, "permissions": ["pubsub.topics.publish"]}
    yield IAM_POLICY, "TestIamPermissions", "topic", asked


def _ends() -> Iterator[Row]:
    detach = {"subscription": f"{P}/subscriptions/case-9"}
    yield PUBLISHER, "DetachSubscription", "there", detach
    yield SUBSCRIBER, "Pull", "detached", {**detach, "max_messages": 1}
    absent = {"subscription": f"{P}/subscriptions/none"}
    yield PUBLISHER, "DetachSubscription", "absent", absent
    yield PUBLISHER, "DeleteTopic", "there", {"topic": TOPIC}
    yield PUBLISHER, "DeleteTopic", "absent", {"topic": TOPIC}
    yield SUBSCRIBER, "GetSubscription", "of a deleted topic", {"subscription": SUBSCRIPTION}
    yield SUBSCRIBER, "DeleteSubscription", "there", {"subscription": SUBSCRIPTION}
    yield SUBSCRIBER, "DeleteSubscription", "absent", {"subscription": SUBSCRIPTION}
