"""A server with a policy file: who is refused what, over gRPC and over REST."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pubsub_delta.errors import InvalidArgument, Unavailable
from pubsub_delta.operations import iam
from pubsub_delta.policy.permissions import METHODS
from pubsub_delta.resources import DeadLetterPolicy
from pubsub_delta.server.authorization import may_forward
from pubsub_delta.server.grpc_services import (
    IAM_POLICY,
    PUBLISHER,
    SCHEMA_SERVICE,
    SERVICES,
    STREAMING_PULL,
    SUBSCRIBER,
)
from pubsub_delta.server.rest import bindings
from pubsub_delta.server.security import Security
from tests.unit.access_files import (
    ADMIN,
    ANN,
    BOB,
    JOB,
    SNAPSHOT,
    SUBSCRIPTION,
    TOPIC,
    bound,
)
from tests.unit.builders import PLAIN
from tests.unit.raw_calls import Server, refused
from tests.unit.serving import LONG
from tests.unit.serving_access import grant, rest, world

NOT_AUTHORIZED = r"User not authorized to perform this action\."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.json"


@pytest.mark.parametrize("member", [None, "user:stranger@example.com"])
def test_without_a_good_token_everything_is_unauthenticated(path: Path, member: str | None) -> None:
    with world(path) as server:
        caller = server.as_(member)
        for method in METHODS:
            service, name = method.split("/")
            if name != STREAMING_PULL:
                with refused("UNAUTHENTICATED", "the bearer token is missing or not valid"):
                    caller.call(service, name)
        ask = server.channel.stream_stream(f"/{SUBSCRIBER}/{STREAMING_PULL}")
        with refused("UNAUTHENTICATED"):
            next(ask(iter(()), metadata=caller.metadata, timeout=LONG))
        status, headers, read = rest(server, "GET", f"/v1/{TOPIC}", None, member)
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert read["error"]["status"] == "UNAUTHENTICATED"


def test_health_checks_need_no_token(path: Path) -> None:
    with world(path) as server:
        ask = health_pb2.HealthCheckRequest()
        assert health_pb2_grpc.HealthStub(server.channel).Check(ask, timeout=LONG).status == 1
        connection = HTTPConnection(server.address, timeout=LONG)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200


FIELDS: dict[str, dict[str, Any]] = {
    "CreateTopic": {"name": "projects/p/topics/new"},
    "UpdateTopic": {"topic": {"name": TOPIC}, "update_mask": {"paths": ["labels"]}},
    "CreateSubscription": {"name": "projects/p/subscriptions/new", "topic": TOPIC},
    "UpdateSubscription": {
        "subscription": {"name": SUBSCRIPTION},
        "update_mask": {"paths": ["labels"]},
    },
    "CreateSnapshot": {"name": "projects/p/snapshots/new", "subscription": SUBSCRIPTION},
    "UpdateSnapshot": {"snapshot": {"name": SNAPSHOT}, "update_mask": {"paths": ["labels"]}},
    "CreateSchema": {"parent": "projects/p", "schema_id": "any"},
    "ValidateMessage": {"parent": "projects/p", "name": "projects/p/schemas/any"},
}
BY_FIELD = {
    "topic": TOPIC,
    "subscription": SUBSCRIPTION,
    "snapshot": SNAPSHOT,
    "resource": TOPIC,
    "name": "projects/p/schemas/any",
    "project": "projects/p",
    "parent": "projects/p",
}


def fields_of(service: str, name: str) -> dict[str, Any]:
    """Return fields that name the resource of a request."""
    if name in FIELDS:
        return FIELDS[name]
    known = SERVICES[service][name].request.DESCRIPTOR.fields_by_name
    first = next(each for each in BY_FIELD if each in known)
    return {first: BY_FIELD[first]}


def absent(fields: Any) -> Any:
    """Return the same fields, naming what is not there."""
    if isinstance(fields, dict):
        return {name: absent(value) for name, value in fields.items()}
    if isinstance(fields, str):
        return fields.replace("/any", "/absent")
    return fields


UNARY = [each for each in METHODS if METHODS[each] and not each.endswith(STREAMING_PULL)]


@pytest.mark.parametrize("method", UNARY)
def test_who_has_no_role_is_told_the_same_whether_it_exists(path: Path, method: str) -> None:
    # "existing and missing resources are answered alike to who may not see"
    service, name = method.split("/")
    fields = fields_of(service, name)
    with world(path) as server:
        ann = server.as_(ANN)
        told = []
        named: tuple[dict[str, Any], ...] = (fields, absent(fields))
        for each in named:
            with refused("PERMISSION_DENIED", NOT_AUTHORIZED) as error:
                ann.call(service, name, **each)
            metadata = dict(error.value.trailing_metadata())
            told.append((error.value.details(), metadata["grpc-status-details-bin"]))
        assert told[0] == told[1]


def test_the_error_of_a_dead_letter_topic_names_no_hidden_subscription(
    path: Path,
) -> None:
    """What is named in the error of another resource is told to who may see it."""
    letters = "projects/p/topics/letters"
    binding = (letters, bound("pubsub.editor", ANN))
    with world(path, binding, (SUBSCRIPTION, bound("pubsub.viewer", BOB))) as server:
        store = server.backend.store
        store.create_topic(letters)
        store.update_subscription(SUBSCRIPTION, dead_letter_policy=DeadLetterPolicy(letters))
        with refused(
            "FAILED_PRECONDITION", "is the dead-letter topic of 1 subscription that"
        ) as told:
            server.as_(ANN).call(PUBLISHER, "DeleteTopic", topic=letters)
        assert SUBSCRIPTION not in str(told.value)
        assert SUBSCRIPTION not in str(rest(server, "DELETE", f"/v1/{letters}", None, ANN))
        server.write(binding, (SUBSCRIPTION, bound("pubsub.viewer", ANN)))
        with refused("FAILED_PRECONDITION", f"is the dead-letter topic of {SUBSCRIPTION};"):
            server.as_(ANN).call(PUBLISHER, "DeleteTopic", topic=letters)


def test_the_error_of_a_seek_names_no_hidden_topic(path: Path) -> None:
    """Who may seek to a snapshot is not told of which topic it is, unless it may be read."""
    hidden, own = "projects/p/topics/hidden", "projects/p/subscriptions/own"
    may = bound("pubsub.subscriber", ANN)
    with world(path, (own, may), (SNAPSHOT, may)) as server:
        server.backend.store.create_topic(hidden)
        server.backend.store.create_subscription(own, hidden)
        with refused("INVALID_ARGUMENT", f"snapshot {SNAPSHOT} is of another topic") as told:
            server.as_(ANN).call(SUBSCRIBER, "Seek", subscription=own, snapshot=SNAPSHOT)
        assert TOPIC not in str(told.value)


def test_a_stream_of_who_has_no_role_is_refused(path: Path) -> None:
    method = SERVICES[SUBSCRIBER][STREAMING_PULL]
    with world(path) as server:
        ask = server.channel.stream_stream(
            f"/{SUBSCRIBER}/{STREAMING_PULL}",
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        for name in (SUBSCRIPTION, absent(SUBSCRIPTION)):
            first = method.request(subscription=name, stream_ack_deadline_seconds=10)
            with refused("PERMISSION_DENIED", NOT_AUTHORIZED):
                next(ask(iter([first]), metadata=server.as_(ANN).metadata, timeout=LONG))


def test_rest_is_refused_in_the_same_words(path: Path) -> None:
    # "Both protocols (gRPC and REST)"
    with world(path) as server:
        for binding in bindings.BINDINGS:
            if not METHODS[f"{binding.service}/{binding.name}"]:
                continue
            told = []
            for topic in ("any", "absent"):
                target = binding.template.replace("{", "").replace("}", "")
                for name in ("topic.name", "subscription.name", "snapshot.name", *BY_FIELD):
                    target = target.replace(f"{name}=", "")
                target = target.replace("projects/*", "projects/p").replace("*", topic)
                body: dict[str, Any] | None = {} if binding.body else None
                if binding.name == "CreateSubscription":
                    body = {"topic": TOPIC}
                if binding.name == "CreateSnapshot":
                    body = {"subscription": SUBSCRIPTION}
                status, _, read = rest(server, binding.verb, target, body, ANN)
                told.append((status, read))
            assert told[0] == told[1]
            assert told[0][0] == 403, binding
            assert told[0][1]["error"]["status"] == "PERMISSION_DENIED"
            assert told[0][1]["error"]["message"] == "User not authorized to perform this action."


def test_roles_let_people_do_what_they_say(path: Path) -> None:
    may = [
        (TOPIC, bound("pubsub.publisher", JOB)),
        (SUBSCRIPTION, bound("pubsub.subscriber", BOB)),
        ("projects/p", bound("pubsub.viewer", ANN)),
    ]
    with world(path, *may) as server:
        ann, bob, job, admin = map(server.as_, (ANN, BOB, JOB, ADMIN))
        publish = {"topic": TOPIC, "messages": [{"data": b"late"}]}
        pull = {"subscription": SUBSCRIPTION, "max_messages": 1}
        job.call(PUBLISHER, "Publish", **publish)
        [received] = bob.call(SUBSCRIBER, "Pull", **pull).received_messages
        bob.call(SUBSCRIBER, "Acknowledge", subscription=SUBSCRIPTION, ack_ids=[received.ack_id])
        assert ann.call(PUBLISHER, "GetTopic", topic=TOPIC).name == TOPIC
        assert len(ann.call(PUBLISHER, "ListTopics", project="projects/p").topics) == 1
        admin.call(PUBLISHER, "DeleteTopic", topic=TOPIC)
        denied: list[tuple[Server, str, str, dict[str, Any]]] = [
            (ann, PUBLISHER, "Publish", publish),
            (ann, SUBSCRIBER, "Pull", pull),
            (bob, PUBLISHER, "Publish", publish),
            (bob, SUBSCRIBER, "GetSubscription", {"subscription": SUBSCRIPTION}),
            (job, PUBLISHER, "GetTopic", {"topic": TOPIC}),
            (job, SUBSCRIBER, "Pull", pull),
            (ann, PUBLISHER, "ListTopics", {"project": "projects/another"}),
        ]
        for caller, service, name, fields in denied:
            with refused("PERMISSION_DENIED"):
                caller.call(service, name, **fields)
        with refused("NOT_FOUND"):  # who may, is told
            ann.call(PUBLISHER, "GetTopic", topic=TOPIC)
        with refused("NOT_FOUND"):
            job.call(PUBLISHER, "Publish", **publish)


def test_to_attach_a_subscription_the_topic_must_permit_it(path: Path) -> None:
    # "topic attach by CreateSubscription needs pubsub.topics.attachSubscription"
    other = {"name": "projects/mine/subscriptions/any", "topic": TOPIC}
    mine = ("projects/mine", bound("pubsub.editor", ANN))
    with world(path, mine) as server:
        ann = server.as_(ANN)
        with refused("PERMISSION_DENIED"):
            ann.call(SUBSCRIBER, "CreateSubscription", **other)
        server.write(mine, (TOPIC, bound("pubsub.subscriber", ANN)))
        ann.call(SUBSCRIBER, "CreateSubscription", **other)


def test_the_topic_decides_who_detaches(path: Path) -> None:
    # "pubsub.topics.detachSubscription on the topic that the subscription is attached to"
    detach = {"subscription": SUBSCRIPTION}
    own = {"roles": {"projects/p/roles/detacher": ["pubsub.topics.detachSubscription"]}}
    with world(path, (SUBSCRIPTION, bound("pubsub.admin", ANN))) as server:
        ann = server.as_(ANN)
        with refused("PERMISSION_DENIED"):
            ann.call(PUBLISHER, "DetachSubscription", **detach)
        by_topic = {"role": "projects/p/roles/detacher", "members": [ANN]}
        server.write((TOPIC, by_topic), **own)
        ann.call(PUBLISHER, "DetachSubscription", **detach)
        assert server.backend.store.get_subscription(SUBSCRIPTION).detached
        server.write(("projects/p", by_topic), **own)
        with refused("NOT_FOUND"):
            ann.call(PUBLISHER, "DetachSubscription", **absent(detach))


def test_where_the_topic_is_deleted_the_project_decides_who_detaches(path: Path) -> None:
    """A subscription of a deleted topic has none whose policy could be asked."""
    may_detach = ("projects/p", bound("pubsub.editor", ANN))
    with world(path, (SUBSCRIPTION, bound("pubsub.admin", ANN))) as server:
        ann = server.as_(ANN)
        server.backend.store.delete_topic(TOPIC)
        with refused("PERMISSION_DENIED"):
            ann.call(PUBLISHER, "DetachSubscription", subscription=SUBSCRIPTION)
        server.write(may_detach)
        ann.call(PUBLISHER, "DetachSubscription", subscription=SUBSCRIPTION)
        assert server.backend.store.get_subscription(SUBSCRIPTION).detached


def test_a_snapshot_of_another_project_needs_its_permission(path: Path) -> None:
    may = (SUBSCRIPTION, bound("pubsub.subscriber", ANN))
    with world(path, may) as server:
        ann = server.as_(ANN)
        seek = {"subscription": SUBSCRIPTION, "snapshot": SNAPSHOT}
        with refused("PERMISSION_DENIED"):
            ann.call(SUBSCRIBER, "Seek", **seek)
        server.write(may, (SNAPSHOT, bound("pubsub.subscriber", ANN)))
        ann.call(SUBSCRIBER, "Seek", **seek)
        with refused("PERMISSION_DENIED"):
            ann.call(SUBSCRIBER, "DeleteSnapshot", snapshot=SNAPSHOT)


def granted(caller: Server, resource: str, *permissions: str) -> list[str]:
    asked = {"resource": resource, "permissions": permissions}
    return list(caller.call(IAM_POLICY, "TestIamPermissions", **asked).permissions)


def test_permissions_are_told_truly(path: Path) -> None:
    # "TestIamPermissions answers truly"
    asked = ("pubsub.topics.get", "pubsub.topics.publish", "pubsub.topics.fly")
    with world(path, (TOPIC, bound("pubsub.publisher", ANN))) as server:
        assert granted(server.as_(ADMIN), TOPIC, *asked) == list(asked[:2])
        assert granted(server.as_(ANN), TOPIC, *asked) == ["pubsub.topics.publish"]
        assert granted(server.as_(BOB), TOPIC, *asked) == []
        assert granted(server.as_(ADMIN), absent(TOPIC), *asked) == []


@pytest.mark.parametrize("asked", ["pubsub.topics.get", "pubsub.*", ""])
def test_a_question_for_permissions_does_not_tell_what_exists(path: Path, asked: str) -> None:
    # "what exists and what does not is answered in the same words to who may not see it"
    with world(path) as server:
        said = []
        for name in (TOPIC, absent(TOPIC)):
            try:
                said.append(str(granted(server.as_(BOB), name, asked)))
            except grpc.RpcError as error:
                said.append(f"{error.code()}: {error.details()}")
    assert said[0] == said[1]


def test_one_of_a_token_and_a_policy_file_is_accepted(path: Path) -> None:
    with world(path) as server, pytest.raises(InvalidArgument, match="policy file"):
        Security(token="secret", access=server.access).check("localhost")


def test_schemas_are_guarded_as_the_rest(path: Path) -> None:
    with world(path, ("projects/p", bound("pubsub.viewer", ANN))) as server:
        assert not server.as_(ANN).call(SCHEMA_SERVICE, "ListSchemas", parent="projects/p").schemas
        with refused("PERMISSION_DENIED"):
            server.as_(ANN).call(SCHEMA_SERVICE, "CreateSchema", parent="projects/p")


def test_without_access_control_dead_letters_of_every_subscription_are_forwarded() -> None:
    """Whom nobody has given roles cannot lack one; with access control the agent needs two."""
    assert may_forward(None)(PLAIN)


def test_a_stored_policy_is_in_force_at_once_though_its_answer_is_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A role that may have been taken is read again before the next request."""
    real, message = iam.set_policy, {"topic": TOPIC, "messages": [{"data": b"late"}]}

    def lost(*given: Any, **more: Any) -> None:
        real(*given, **more)
        raise Unavailable("the answer of the storage was lost")

    with world(path) as server:
        ann = server.as_(ANN)
        grant(server, TOPIC, bound("pubsub.publisher", ANN))
        ann.call(PUBLISHER, "Publish", **message)
        monkeypatch.setattr(iam, "set_policy", lost)
        with refused("UNAVAILABLE"):
            grant(server, TOPIC)
        with refused("PERMISSION_DENIED"):
            ann.call(PUBLISHER, "Publish", **message)
