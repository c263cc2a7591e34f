"""IAM policies over gRPC: kept with the resource, replaced by etag, gone with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

pytest.importorskip("grpc")
from google.iam.v1 import policy_pb2
from google.type import expr_pb2

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.iam import Binding, IamPolicy, as_text, check_policy
from pubsub_delta.server.grpc_services import IAM_POLICY, PUBLISHER, SUBSCRIBER
from tests.unit.raw_calls import Server, refused
from tests.unit.serving_world import WorldBackend, served

TOPIC = "projects/p/topics/any"
SUBSCRIPTION = "projects/p/subscriptions/any"
SNAPSHOT = "projects/p/snapshots/any"
PUBLISHERS = {"role": "roles/pubsub.publisher", "members": ["user:a@example.com"]}
CONDITION = {
    "expression": "request.time < timestamp('2030-01-01T00:00:00Z')",
    "title": "until",
    "description": "for a while",
    "location": "policy.json",
}


@pytest.fixture
def server() -> Iterator[Server]:
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        server = Server(channel)
        server.call(PUBLISHER, "CreateTopic", name=TOPIC)
        server.call(SUBSCRIBER, "CreateSubscription", name=SUBSCRIPTION, topic=TOPIC)
        server.call(SUBSCRIBER, "CreateSnapshot", name=SNAPSHOT, subscription=SUBSCRIPTION)
        yield server


def kept(server: Server, resource: str = TOPIC, **options: Any) -> Any:
    return server.call(IAM_POLICY, "GetIamPolicy", resource=resource, options=options)


def put(server: Server, resource: str = TOPIC, *bindings: Any, **more: Any) -> Any:
    policy = {"bindings": bindings, **more}
    return server.call(IAM_POLICY, "SetIamPolicy", resource=resource, policy=policy)


@pytest.mark.parametrize("resource", [TOPIC, SUBSCRIPTION, SNAPSHOT])
def test_a_policy_is_kept_and_returned(server: Server, resource: str) -> None:
    # "Get/SetIamPolicy keep and return a policy (stored, with etag)"
    assert kept(server, resource) == policy_pb2.Policy(etag=b"\x00\x20\x01")
    written = put(server, resource, PUBLISHERS, {"role": "roles/viewer", "members": []}, version=1)
    assert [each.role for each in written.bindings] == ["roles/pubsub.publisher"]
    assert kept(server, resource) == written
    others = {TOPIC, SUBSCRIPTION, SNAPSHOT} - {resource}
    assert [len(kept(server, each).bindings) for each in others] == [0, 0]


def test_a_policy_that_was_changed_since_it_was_read_is_not_replaced(server: Server) -> None:
    # "etag compared"
    read = kept(server)
    first = put(server, TOPIC, PUBLISHERS, etag=read.etag)
    assert first.etag != read.etag
    with refused("ABORTED", r"policy\.etag"):
        put(server, TOPIC, etag=read.etag)
    assert kept(server) == first
    without_etag = put(server, TOPIC)
    assert without_etag.etag not in (read.etag, first.etag)
    with refused("ABORTED"):
        put(server, TOPIC, etag=first.etag)


@pytest.mark.parametrize(
    ("resource", "service", "delete", "create"),
    [
        (TOPIC, PUBLISHER, ("DeleteTopic", "topic"), ("CreateTopic", {})),
        (
            SUBSCRIPTION,
            SUBSCRIBER,
            ("DeleteSubscription", "subscription"),
            ("CreateSubscription", {"topic": TOPIC}),
        ),
        (
            SNAPSHOT,
            SUBSCRIBER,
            ("DeleteSnapshot", "snapshot"),
            ("CreateSnapshot", {"subscription": SUBSCRIPTION}),
        ),
    ],
)
def test_a_policy_is_gone_with_its_resource(
    server: Server, resource: str, service: str, delete: Any, create: Any
) -> None:
    # "stored durably with the resource's uid, … gone with the resource"
    put(server, resource, PUBLISHERS)
    server.call(service, delete[0], **{delete[1]: resource})
    with refused("NOT_FOUND"):
        kept(server, resource)
    with refused("NOT_FOUND"):
        put(server, resource, PUBLISHERS)
    asked = {"resource": resource, "permissions": ["pubsub.topics.get"]}
    assert not server.call(IAM_POLICY, "TestIamPermissions", **asked).permissions
    server.call(service, create[0], name=resource, **create[1])
    assert not kept(server, resource).bindings


def test_a_policy_survives_a_change_of_its_resource(server: Server) -> None:
    put(server, TOPIC, PUBLISHERS)
    topic = {"name": TOPIC, "labels": {"a": "b"}}
    server.call(PUBLISHER, "UpdateTopic", topic=topic, update_mask={"paths": ["labels"]})
    assert len(kept(server).bindings) == 1
    assert server.call(PUBLISHER, "GetTopic", topic=TOPIC).labels == {"a": "b"}


def test_conditions_need_version_3(server: Server) -> None:
    # Google: "any operation that affects conditional role bindings must specify version 3"
    bound = {**PUBLISHERS, "condition": CONDITION}
    with refused("INVALID_ARGUMENT", r"policy\.bindings\[0\]\.condition"):
        put(server, TOPIC, bound, version=1)
    written = put(server, TOPIC, bound, version=3)
    assert written.bindings[0].condition == expr_pb2.Expr(**CONDITION)
    with refused("INVALID_ARGUMENT", "requested_policy_version"):
        kept(server, TOPIC, requested_policy_version=1)
    assert kept(server, TOPIC, requested_policy_version=3) == written


def test_a_mask_leaves_the_bindings_as_they_are(server: Server) -> None:
    put(server, TOPIC, PUBLISHERS)
    mask = {"paths": ["etag"]}
    server.call(IAM_POLICY, "SetIamPolicy", resource=TOPIC, update_mask=mask, policy={})
    assert len(kept(server).bindings) == 1


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"version": 2}, r"policy\.version: 2"),
        ({"bindings": [{"role": "publisher", "members": ["allUsers"]}]}, r"bindings\[0\]\.role"),
        ({"bindings": [{**PUBLISHERS, "members": ["a@example.com"]}]}, r"\[0\]\.members"),
        ({"bindings": [{**PUBLISHERS, "members": ["user:x"] * 1_501}]}, "1,501 members"),
    ],
)
def test_a_wrong_policy_is_refused_and_nothing_is_written(
    server: Server, policy: Any, told: str
) -> None:
    with refused("INVALID_ARGUMENT", told):
        server.call(IAM_POLICY, "SetIamPolicy", resource=TOPIC, policy=policy)
    assert not kept(server).bindings


def test_a_policy_has_as_many_members_as_google_allows(server: Server) -> None:
    """Google: "You can include up to 1,500 principals in a policy"."""
    put(server, TOPIC, {**PUBLISHERS, "members": [f"user:{n}" for n in range(1_500)]})
    assert len(kept(server).bindings[0].members) == 1_500


def test_a_policy_takes_as_many_bytes_as_an_error_names() -> None:
    """ "up to 100,000 are accepted", of the policy as it is stored."""

    def policy(size: int) -> IamPolicy:
        short = IamPolicy((Binding("roles/pubsub.viewer", ("user:x",)),))
        member = f"user:{'x' * (size - len(as_text(short)) + 1)}"
        return IamPolicy((Binding("roles/pubsub.viewer", (member,)),))

    assert len(as_text(check_policy(policy(100_000)))) == 100_000
    with pytest.raises(InvalidArgument, match="100,001 bytes"):
        check_policy(policy(100_001))


def test_what_would_do_nothing_is_refused_by_name(server: Server) -> None:
    with refused("UNIMPLEMENTED", "audit_configs"):
        put(server, TOPIC, audit_configs=[{"service": "allServices"}])
    with refused("INVALID_ARGUMENT", "resource: 'projects/p' is not a resource"):
        kept(server, "projects/p")
    for method, more in (
        ("SetIamPolicy", {"update_mask": {"paths": ["audit_configs"]}}),
        ("TestIamPermissions", {"permissions": ["pubsub.topics.get"]}),
    ):
        with refused("INVALID_ARGUMENT", "resource: 'projects/p' is not a resource"):
            server.call(IAM_POLICY, method, resource="projects/p", **more)
    with refused("INVALID_ARGUMENT", "update_mask: audit_configs, etag; bindings, etag and"):
        paths = {"paths": ["etag", "audit_configs"]}
        server.call(IAM_POLICY, "SetIamPolicy", resource=TOPIC, update_mask=paths)
    # Google: "Valid values are 0, 1, and 3. Requests specifying an invalid value will be rejected."
    with refused("INVALID_ARGUMENT", "requested_policy_version: 2; 0, 1 or 3"):
        kept(server, requested_policy_version=2)


def test_a_schema_has_no_policy_whatever_is_asked_about_it(server: Server) -> None:
    schema = "projects/local/schemas/states"
    with refused("UNIMPLEMENTED", "schemas have no IAM policies"):
        kept(server, schema)
    with refused("UNIMPLEMENTED", "schemas have no IAM policies"):
        asked = ["pubsub.schemas.get"]
        server.call(IAM_POLICY, "TestIamPermissions", resource=schema, permissions=asked)


def test_permissions_of_the_resource_are_granted(server: Server) -> None:
    # "TestIamPermissions grants what is asked (of known permissions for that resource type)"
    asked = ["pubsub.topics.publish", "pubsub.topics.fly", "pubsub.subscriptions.consume"]
    has = {
        each: server.call(IAM_POLICY, "TestIamPermissions", resource=each, permissions=asked)
        for each in (TOPIC, SUBSCRIPTION, SNAPSHOT)
    }
    assert {each: list(found.permissions) for each, found in has.items()} == {
        TOPIC: ["pubsub.topics.publish"],
        SUBSCRIPTION: ["pubsub.subscriptions.consume"],
        SNAPSHOT: [],
    }
    with refused("INVALID_ARGUMENT", "wildcard"):
        server.call(
            IAM_POLICY, "TestIamPermissions", resource=TOPIC, permissions=["pubsub.topics.*"]
        )
