"""Requests in JSON as the messages that they mean, by Google's annotations and protobuf's JSON."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("grpc")
from google.pubsub_v1.types import pubsub, schema

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server.grpc_services import SERVICES, STREAMING_PULL
from pubsub_delta.server.rest import bindings, parameters, payload, transcoding

TOPIC = "projects/local/topics/flights"
SUBSCRIPTION = "projects/local/subscriptions/delays"


def read(verb: str, target: str, body: str | bytes = "") -> tuple[str, Any]:
    """Return the method that a request calls, and its message."""
    path, _, query = target.partition("?")
    bound = bindings.found(verb, path)
    assert bound is not None, target
    data = body if isinstance(body, bytes) else body.encode()
    fields = parameters.parsed(query).fields
    return bound[0].name, transcoding.request_of(*bound, fields, data)


def same(got: Any, expected: Any) -> None:
    assert got == type(expected).pb(expected)


UNDERSTOOD = [
    ("PUT", f"/v1/{TOPIC}", "", "CreateTopic", pubsub.Topic(name=TOPIC)),
    # google.api.http: the path wins over the body.
    (
        "PUT",
        f"/v1/{TOPIC}",
        '{"name": "projects/x/topics/other", "labels": {"a": "b"}}',
        "CreateTopic",
        pubsub.Topic(name=TOPIC, labels={"a": "b"}),
    ),
    # ProtoJSON: parsers accept camelCase names and those of the proto; null is no value.
    (
        "PUT",
        f"/v1/{TOPIC}",
        '{"message_retention_duration": "600.5s", "kmsKeyName": "k", "labels": null}',
        "CreateTopic",
        pubsub.Topic(
            name=TOPIC,
            kms_key_name="k",
            message_retention_duration={"seconds": 600, "nanos": 500_000_000},
        ),
    ),
    # ProtoJSON: standard and URL-safe base64, with and without padding.
    (
        "POST",
        f"/v1/{TOPIC}:publish",
        '{"messages": [{"data": "_-8="}, {"data": "/+8"}, {"data": ""},'
        ' {"attributes": {"k": ""}}]}',
        "Publish",
        pubsub.PublishRequest(
            topic=TOPIC,
            messages=[
                {"data": b"\xff\xef"},
                {"data": b"\xff\xef"},
                {},
                {"attributes": {"k": ""}},
            ],
        ),
    ),
    # ProtoJSON: numbers may be texts.
    (
        "POST",
        f"/v1/{SUBSCRIPTION}:pull",
        '{"maxMessages": "7", "returnImmediately": true}',
        "Pull",
        pubsub.PullRequest(subscription=SUBSCRIPTION, max_messages=7, return_immediately=True),
    ),
    ("GET", f"/v1/{TOPIC}", "", "GetTopic", pubsub.GetTopicRequest(topic=TOPIC)),
    # An identifier in a path is percent-encoded.
    (
        "GET",
        "/v1/projects/local/topics/a%2Bb%25c",
        "",
        "GetTopic",
        pubsub.GetTopicRequest(topic="projects/local/topics/a+b%c"),
    ),
    # A project of a domain has a colon.
    (
        "GET",
        "/v1/projects/example.com:p/topics?pageSize=5&page_token=x&key=k&%24alt=json&alt=json",
        "",
        "ListTopics",
        pubsub.ListTopicsRequest(project="projects/example.com:p", page_size=5, page_token="x"),
    ),
    # ProtoJSON: a field mask is a text of camelCase paths; gcloud sends it in the body,
    (
        "PATCH",
        f"/v1/{SUBSCRIPTION}",
        '{"subscription": {"ackDeadlineSeconds": 30, "labels": {"a": "b"}},'
        ' "updateMask": "ackDeadlineSeconds,deadLetterPolicy.maxDeliveryAttempts,push_config"}',
        "UpdateSubscription",
        pubsub.UpdateSubscriptionRequest(
            subscription={"name": SUBSCRIPTION, "ack_deadline_seconds": 30, "labels": {"a": "b"}},
            update_mask={
                "paths": [
                    "ack_deadline_seconds",
                    "dead_letter_policy.max_delivery_attempts",
                    "push_config",
                ]
            },
        ),
    ),
    # and Terraform in the query.
    (
        "PATCH",
        f"/v1/{TOPIC}?updateMask=labels%2CmessageRetentionDuration",
        '{"topic": {"name": "projects/local/topics/flights", "labels": {"a": "b"}}}',
        "UpdateTopic",
        pubsub.UpdateTopicRequest(
            topic={"name": TOPIC, "labels": {"a": "b"}},
            update_mask={"paths": ["labels", "message_retention_duration"]},
        ),
    ),
    (
        "POST",
        f"/v1/{SUBSCRIPTION}:seek",
        '{"time": "2026-01-01T02:00:00.5+02:00"}',
        "Seek",
        pubsub.SeekRequest(
            subscription=SUBSCRIPTION, time={"seconds": 1_767_225_600, "nanos": 500_000_000}
        ),
    ),
    # A method without a body takes an empty one.
    (
        "POST",
        f"/v1/{SUBSCRIPTION}:detach",
        "{}",
        "DetachSubscription",
        pubsub.DetachSubscriptionRequest(subscription=SUBSCRIPTION),
    ),
    # google.api.http: where the body is a field, the query names others.
    (
        "POST",
        "/v1/projects/local/schemas?schemaId=carriers",
        '{"type": "AVRO", "definition": "{}"}',
        "CreateSchema",
        schema.CreateSchemaRequest(
            parent="projects/local",
            schema_id="carriers",
            schema={"type_": "AVRO", "definition": "{}"},
        ),
    ),
    # ProtoJSON: an enum is a name or a number.
    (
        "GET",
        "/v1/projects/local/schemas?view=FULL",
        "",
        "ListSchemas",
        schema.ListSchemasRequest(parent="projects/local", view="FULL"),
    ),
    (
        "GET",
        "/v1/projects/local/schemas/carriers?view=2",
        "",
        "GetSchema",
        schema.GetSchemaRequest(name="projects/local/schemas/carriers", view="FULL"),
    ),
    (
        "DELETE",
        "/v1/projects/local/schemas/carriers@a1b2:deleteRevision?revisionId=a1b2",
        "",
        "DeleteSchemaRevision",
        schema.DeleteSchemaRevisionRequest(
            name="projects/local/schemas/carriers@a1b2", revision_id="a1b2"
        ),
    ),
]


@pytest.mark.parametrize(("verb", "target", "body", "name", "expected"), UNDERSTOOD)
def test_a_request_is_the_message_that_it_means(
    verb: str, target: str, body: str, name: str, expected: Any
) -> None:
    called, message = read(verb, target, body)
    assert called == name
    same(message, expected)


def test_query_parameters_reach_fields_within_fields_and_repeated_ones() -> None:
    """google.api.http: ``?options.requestedPolicyVersion=3``; a repeated field is repeated."""
    _, got = read("GET", f"/v1/{TOPIC}:getIamPolicy?options.requestedPolicyVersion=3")
    assert (got.resource, got.options.requested_policy_version) == (TOPIC, 3)
    _, got = read("POST", f"/v1/{TOPIC}:testIamPermissions?permissions=a&permissions=b")
    assert list(got.permissions) == ["a", "b"]
    _, got = read("POST", f"/v1/{SUBSCRIPTION}:pull?returnImmediately=true&maxMessages=1")
    assert (got.return_immediately, got.max_messages) == (True, 1)


REFUSED = [
    # Google: unknown names are refused, wherever they stand.
    ("PUT", f"/v1/{TOPIC}", '{"foo": 1}', 'Unknown name "foo": Cannot find field'),
    (
        "POST",
        f"/v1/{TOPIC}:publish",
        '{"messages": [{}, {"dta": "eA=="}]}',
        r"Unknown name \"dta\" at 'messages\[1\]': Cannot find field",
    ),
    ("GET", f"/v1/{TOPIC}?foo=1", "", 'Unknown name "foo": Cannot bind query parameter'),
    ("GET", f"/v1/{TOPIC}?topic.name=1", "", "Cannot bind query parameter"),
    ("PATCH", f"/v1/{TOPIC}?topic=1", "", "Cannot bind query parameter"),
    ("PATCH", f"/v1/{TOPIC}?topic.labels=1", "", "Cannot bind query parameter"),
    # A mask, a time or a duration is a text, and has no fields within.
    (
        "PATCH",
        f"/v1/{TOPIC}?updateMask=labels&updateMask.paths=labels",
        "",
        'Unknown name "updateMask.paths": Cannot bind query parameter',
    ),
    (
        "PATCH",
        f"/v1/{TOPIC}?topic.messageRetentionDuration.seconds=600",
        "",
        "Cannot bind query parameter",
    ),
    ("GET", "/v1/projects/local/topics?pageSize=1&pageSize=2", "", "given 2 times"),
    ("GET", "/v1/projects/local/topics?pageSize=x", "", "'pageSize': \"x\"; a whole number"),
    ("GET", "/v1/projects/local/topics?pageSize=99999999999", "", "out of range"),
    ("GET", "/v1/projects/local/schemas?view=NOPE", "", "one of .*, BASIC, FULL, or its number"),
    # ProtoJSON: an enum is a name or a whole number. protobuf takes true and 1.5 for 1.
    *[
        ("POST", "/v1/projects/local/schemas:validate", f'{{"schema": {{"type": {each}}}}}', "AVRO")
        for each in ("true", "1.5", "1e999", '"1_0"', '" 2"', '"\uff12"', '"avro"', "[2]", "{}")
    ],
    ("POST", f"/v1/{SUBSCRIPTION}:pull?returnImmediately=maybe", "", "true and false"),
    # Data that is not base64 must not be read as other data.
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": [{"data": "%%"}]}', r"'messages\[0\]\.data'"),
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": [{"data": "a"}]}', "base64 is accepted"),
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": [{"data": "YQ==YQ=="}]}', "base64"),
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": [{"data": "YQ==\\n"}]}', "base64"),
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": [{"data": 3}]}', "3; a string is accepted"),
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": {}}', "'messages': {}; a list is accepted"),
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": [3]}', "3; an object is accepted"),
    ("POST", f"/v1/{TOPIC}:publish", '{"messages": [null]}', "'messages\\[0\\]': null"),
    ("PUT", f"/v1/{TOPIC}", '{"labels": {"a": 1}}', "'labels': 1; a string is accepted"),
    ("PUT", f"/v1/{TOPIC}", '{"labels": {"a": null}}', "'labels': null; a string is accepted"),
    ("PUT", f"/v1/{TOPIC}", '{"labels": 3}', "an object is accepted"),
    ("PUT", f"/v1/{TOPIC}", '{"kmsKeyName": "a", "kms_key_name": "b"}', "are the same field"),
    ("PUT", f"/v1/{TOPIC}", '{"labels": {}, "labels": {}}', '"labels" appears twice'),
    ("PUT", f"/v1/{TOPIC}", '{"messageRetentionDuration": 600}', "a string is accepted"),
    *[
        ("PUT", f"/v1/{TOPIC}", f'{{"messageRetentionDuration": "{each}"}}', "a duration as in")
        for each in (
            "600",
            "+600s",
            "6_00s",
            "\uff16\uff10\uff10s",
            "600.s",
            "6e2s",
            "600.0000000001s",
        )
    ],
    ("PUT", f"/v1/{TOPIC}", '{"kmsKeyName": "\\ud800"}', "surrogate"),
    ("POST", f"/v1/{SUBSCRIPTION}:pull", '{"maxMessages": 1.5}', "a whole number is accepted"),
    ("POST", f"/v1/{SUBSCRIPTION}:pull", '{"maxMessages": true}', "a whole number is accepted"),
    ("POST", f"/v1/{SUBSCRIPTION}:pull", '{"maxMessages": NaN}', "NaN is not JSON"),
    ("POST", f"/v1/{SUBSCRIPTION}:pull", '{"returnImmediately": "yes"}', "true or false"),
    *[
        ("POST", f"/v1/{SUBSCRIPTION}:seek", f'{{"time": "{each}"}}', "a timestamp as RFC 3339")
        for each in (
            "yesterday",
            "2026-1-1T0:0:0Z",
            "2026-01-01T00:00:00.1_0Z",
            "2026-01-01T00:00:00.1e2Z",
            "2026-01-01T00:00:00+01:60",
            "2026-01-01T00:00:00+24:00",
            "\uff12\uff1026-01-01T00:00:00Z",
        )
    ],
    (
        "POST",
        f"/v1/{SUBSCRIPTION}:seek",
        '{"time": "2026-01-01T00:00:00Z", "snapshot": "s"}',
        "target",
    ),
    ("PATCH", f"/v1/{TOPIC}", '{"updateMask": ["labels"]}', "a string is accepted"),
    ("PATCH", f"/v1/{TOPIC}", '{"updateMask": "labels.aB"}', "with labels as a whole is accepted"),
    ("PUT", f"/v1/{TOPIC}", "[]", r"'the body': \[\]; an object is accepted"),
    ("PUT", f"/v1/{TOPIC}", "{bad", "line 1, column 2"),
    ("PUT", f"/v1/{TOPIC}", b'{"kmsKeyName": "\xff"}', "not UTF-8"),
    ("PUT", f"/v1/{TOPIC}", "[" * 100_000, "nested too deeply"),
    ("PUT", f"/v1/{TOPIC}", '{"kmsKeyName": ' + "9" * 5000 + "}", "too many digits"),
    ("DELETE", f"/v1/{TOPIC}", '{"topic": "x"}', "DeleteTopic takes no body"),
    ("GET", "/v1/projects/local/topics/%FF%FE", "", "not UTF-8"),
    ("GET", f"/v1/{TOPIC}?key=%FF", "", "not UTF-8"),
    ("GET", f"/v1/{TOPIC}?callback=f", "", "callback is not accepted"),
    ("GET", f"/v1/{TOPIC}?alt=media", "", "json is accepted"),
    ("GET", f"/v1/{TOPIC}?prettyPrint=no", "", "true and false are accepted"),
    ("GET", f"/v1/{TOPIC}?" + "key=x&" * 600, "", "more than 500 parameters"),
]


@pytest.mark.parametrize(("verb", "target", "body", "why"), REFUSED)
def test_what_a_request_cannot_mean_is_refused_by_name(
    verb: str, target: str, body: str | bytes, why: str
) -> None:
    with pytest.raises(InvalidArgument, match=why) as refused:
        read(verb, target, body)
    text = str(refused.value)
    assert len(text) < 400, "an error shows a little of a wrong value, not all of it"
    assert "Available Fields" not in text
    assert not re.search("NoneType|bytes-like|'(int|dict|list)' object|literal", text)


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("GET", "/v1/projects/local/topics/flights/"),
        ("GET", "/v1/projects/local/topics/"),
        ("GET", "/v1/projects/local/topics/a/b"),
        ("GET", f"/v1/{TOPIC}:nope"),
        ("POST", f"/v1/{TOPIC}"),
        ("post", f"/v1/{TOPIC}:publish"),
        ("GET", f"/v2/{TOPIC}"),
        ("POST", f"/v1/{SUBSCRIPTION}:streamingPull"),
        ("OPTIONS", f"/v1/{TOPIC}"),
        ("GET", "/v1/projects/local"),
    ],
)
def test_paths_of_no_method_are_found_nowhere(verb: str, path: str) -> None:
    assert bindings.found(verb, path) is None


def test_every_method_that_answers_once_has_a_binding() -> None:
    """google/pubsub/v1/pubsub.proto: all have one but StreamingPull."""
    bound = {(each.service, each.name) for each in bindings.BINDINGS}
    methods = {(service, name) for service, names in SERVICES.items() for name in names}
    assert methods - bound == {("google.pubsub.v1.Subscriber", STREAMING_PULL)}
    # The API's configuration gives IAM a path for topics, subscriptions, snapshots and schemas.
    assert sum(each.name == "GetIamPolicy" for each in bindings.BINDINGS) == 4


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("\ud800", '"\\ud800"'),
        ("a\udfffb", '"a\\udfffb"'),
        ({"a": ["b", {"c\ud83d": 1}]}, '"c\\ud83d"'),
        (["a", ["b\udc00"], 1], '"b\\udc00"'),
        ("\ud7ff\ue000", None),
        ({"a": ["\U0001f600", 1, None, True, 0.5], "": {}}, None),
        (7, None),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(
    value: Any, shown: str | None
) -> None:
    """ "Half of a surrogate pair, which protobuf and UTF-8 do not have"."""
    if shown is None:
        payload._check_characters(value)
        return
    with pytest.raises(InvalidArgument) as refused:
        payload._check_characters(value)
    assert str(refused.value) == (
        f"Invalid JSON payload received: {shown} has half of a surrogate pair; whole characters "
        "are accepted"
    )
