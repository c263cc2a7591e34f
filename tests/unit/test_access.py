"""Who may do what: roles, members and bindings, and the row of every method."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.policy.access import (
    ACT_AS,
    KNOWN,
    ROLES,
    AccessPolicy,
    Caller,
    check_enforceable,
    is_granted,
)
from pubsub_delta.policy.iam import Binding, Condition, IamPolicy
from pubsub_delta.policy.permissions import METHODS, NeededPermission, needed_permissions
from pubsub_delta.server.grpc_services import SERVICES
from tests.unit.access_files import ANN, BOB, JOB, SCHEMA, SNAPSHOT, SUBSCRIPTION, TOPIC

PUBLISH, CONSUME = "pubsub.topics.publish", "pubsub.subscriptions.consume"
PUB, SUB = "google.pubsub.v1.Publisher", "google.pubsub.v1.Subscriber"
SCHEMAS, IAM = "google.pubsub.v1.SchemaService", "google.iam.v1.IAMPolicy"


def test_every_method_of_every_service_has_its_row() -> None:
    # "one row a method with a test that every method of every service has its row"
    methods = {f"{service}/{name}" for service, names in SERVICES.items() for name in names}
    assert set(METHODS) == methods
    assert [each for each, needed in METHODS.items() if not needed] == [f"{IAM}/TestIamPermissions"]


def test_every_permission_of_a_row_is_in_a_role() -> None:
    for needed in METHODS.values():
        for each in needed:
            for collection in ("topics", "subscriptions", "snapshots", "schemas"):
                assert each.permission.format(collection=collection) in KNOWN


# Google's page of roles, as far as it is about methods that there are
PUBLISHER = {PUBLISH}
SUBSCRIBER = {"pubsub.snapshots.seek", CONSUME, "pubsub.topics.attachSubscription"}
VIEWER = {
    *("pubsub.schemas.get", "pubsub.schemas.list", "pubsub.schemas.listRevisions"),
    *("pubsub.schemas.validate", "pubsub.snapshots.get", "pubsub.snapshots.list"),
    *("pubsub.subscriptions.get", "pubsub.subscriptions.list"),
    *("pubsub.topics.get", "pubsub.topics.list"),
}
EDITOR = {
    *PUBLISHER,
    *SUBSCRIBER,
    *VIEWER,
    *("pubsub.schemas.attach", "pubsub.schemas.commit", "pubsub.schemas.create"),
    *("pubsub.schemas.delete", "pubsub.schemas.rollback", "pubsub.snapshots.create"),
    *("pubsub.snapshots.delete", "pubsub.snapshots.update", "pubsub.subscriptions.create"),
    *("pubsub.subscriptions.delete", "pubsub.subscriptions.update", "pubsub.topics.create"),
    *("pubsub.topics.delete", "pubsub.topics.detachSubscription", "pubsub.topics.update"),
    "pubsub.topics.updateTag",
}
POLICIES = {
    f"pubsub.{each}.{verb}IamPolicy"
    for each in ("topics", "subscriptions", "snapshots", "schemas")
    for verb in ("get", "set")
}


@pytest.mark.parametrize(
    ("role", "permissions"),
    [
        ("publisher", PUBLISHER),
        ("subscriber", SUBSCRIBER),
        ("viewer", VIEWER),
        ("editor", EDITOR),
        ("admin", EDITOR | POLICIES),
    ],
)
def test_roles_have_the_permissions_of_googles_table(role: str, permissions: set[str]) -> None:
    assert ROLES[f"roles/pubsub.{role}"] == permissions


def test_a_binding_grants_on_its_resource_and_a_project_on_all_of_its_own() -> None:
    policy = AccessPolicy(
        bindings={
            TOPIC: [Binding("roles/pubsub.publisher", (ANN,))],
            "projects/p": [Binding("roles/pubsub.subscriber", (BOB,))],
            "*": [Binding("roles/pubsub.viewer", (JOB,))],
        }
    )
    ann, bob, job = map(policy.caller, (ANN, BOB, JOB))
    assert is_granted(policy, ann, PUBLISH, TOPIC)
    assert not is_granted(policy, ann, PUBLISH, "projects/p/topics/another")
    assert not is_granted(policy, ann, PUBLISH, "projects/p")
    assert not is_granted(policy, ann, "pubsub.topics.get", TOPIC)
    assert is_granted(policy, bob, CONSUME, SUBSCRIPTION)
    assert not is_granted(policy, bob, CONSUME, "projects/p2/subscriptions/any")
    assert is_granted(policy, job, "pubsub.topics.list", "projects/anything")


def test_stored_bindings_add_to_those_of_the_file() -> None:
    policy = AccessPolicy()
    stored = {TOPIC: [Binding("roles/pubsub.publisher", (ANN,))]}
    grants = [
        is_granted(policy, policy.caller(each), PUBLISH, TOPIC, lambda of: stored.get(of, ()))
        for each in (ANN, BOB)
    ]
    assert grants == [True, False]


def test_a_binding_with_a_condition_grants_nothing() -> None:
    # "conditions in bindings refused by name if not evaluated"
    until = Condition("request.time < timestamp('2030-01-01T00:00:00Z')", "until")
    bound = Binding("roles/pubsub.publisher", (ANN,), until)
    policy = AccessPolicy(bindings={TOPIC: [bound]})
    assert not is_granted(policy, policy.caller(ANN), PUBLISH, TOPIC)
    with pytest.raises(Unimplemented, match=r"policy\.bindings\[0\]\.condition: 'until'"):
        check_enforceable(policy, IamPolicy((bound,), 3))


def test_a_role_that_nobody_knows_is_refused_and_grants_nothing() -> None:
    bound = Binding("roles/pubsub.superuser", (ANN,))
    policy = AccessPolicy(bindings={TOPIC: [bound]})
    assert not is_granted(policy, policy.caller(ANN), PUBLISH, TOPIC)
    with pytest.raises(InvalidArgument, match=r"roles/pubsub\.superuser"):
        check_enforceable(policy, IamPolicy((bound,)))
    own = AccessPolicy(roles={"roles/pubsub.superuser": frozenset({PUBLISH})})
    check_enforceable(own, IamPolicy((bound,)))


@pytest.mark.parametrize(
    ("member", "bound_to", "is_meant"),
    [
        (ANN, ANN, True),
        (ANN, "user:Ann@Example.com", True),
        (ANN, "serviceAccount:ann@example.com", False),
        # The Kelvin sign and the dotted capital have ASCII letters in lower case.
        ("user:mark@example.com", "user:mar\N{KELVIN SIGN}@example.com", False),
        ("user:mar\N{KELVIN SIGN}@example.com", "user:mark@example.com", False),
        ("user:mar\N{KELVIN SIGN}@example.com", "group:marks@example.com", False),
        ("user:ann@\N{KELVIN SIGN}.example", "domain:k.example", False),
        ("serviceAccount:\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}@x.y", "allUsers", True),
        (
            "serviceAccount:\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}@x.y",
            "serviceAccount:i\N{COMBINING DOT ABOVE}@x.y",
            False,
        ),
        ("user:\N{CYRILLIC CAPITAL LETTER A}@x.y", "user:\N{CYRILLIC SMALL LETTER A}@x.y", False),
        (ANN, "domain:example.com", True),
        (ANN, "domain:ample.com", False),
        (JOB, "domain:example.com", False),  # Google: domains have people
        (ANN, "allUsers", True),
        (ANN, "allAuthenticatedUsers", True),
        (ANN, "group:crew@example.com", True),
        (BOB, "group:crew@example.com", False),
        ("user:carla@example.com", "group:crew@example.com", True),
        ("principal://pool/subject/ann", "principal://pool/subject/Ann", False),
        (ANN, "deleted:user:ann@example.com?uid=1", False),
        (ANN, "projectOwner:p", False),
    ],
)
def test_members(member: str, bound_to: str, is_meant: bool) -> None:
    crew = {
        "group:crew@example.com": frozenset({ANN, "user:Carla@Example.com"}),
        "group:marks@example.com": frozenset({"user:mark@example.com"}),
    }
    assert AccessPolicy(groups=crew).caller(member).is_among([bound_to]) == is_meant


def test_nobody_is_among_no_members() -> None:
    assert not Caller(ANN).is_among([])


def request(**fields: Any) -> Any:
    """Return a request; a dictionary is a message within it."""
    return SimpleNamespace(
        **{
            name: request(**value) if isinstance(value, dict) else value
            for name, value in fields.items()
        }
    )


def pairs(method: str, **fields: Any) -> list[tuple[str, str]]:
    return [
        (each.permission, each.resource) for each in needed_permissions(method, request(**fields))
    ]


PUSH = {"oidc_token": {"service_account_email": "job@example.com"}}
NO_PUSH = {"oidc_token": {"service_account_email": ""}}


def test_a_subscription_needs_its_project_and_its_topic() -> None:
    # "creating a Subscription S in Project A that is attached to a Topic T in Project B"
    fields: dict[str, Any] = {
        "topic": "projects/b/topics/any",
        "dead_letter_policy": {"dead_letter_topic": "projects/c/topics/dead"},
        "push_config": PUSH,
    }
    assert pairs(f"{SUB}/CreateSubscription", name="projects/a/subscriptions/any", **fields) == [
        ("pubsub.subscriptions.create", "projects/a"),
        ("pubsub.topics.attachSubscription", "projects/b/topics/any"),
        ("pubsub.topics.get", "projects/c/topics/dead"),
        (ACT_AS, "projects/a/serviceAccounts/job@example.com"),
    ]
    unnamed = pairs(f"{SUB}/CreateSubscription", name="", **fields)
    assert unnamed[0] == ("pubsub.subscriptions.create", "projects/b")
    assert unnamed[3] == (ACT_AS, "projects/b/serviceAccounts/job@example.com")


def test_a_change_needs_more_only_for_what_its_mask_names() -> None:
    subscription = {
        "name": SUBSCRIPTION,
        "dead_letter_policy": {"dead_letter_topic": "projects/c/topics/dead"},
        "push_config": PUSH,
    }

    def needs(*paths: str) -> list[str]:
        fields = {"subscription": subscription, "update_mask": {"paths": list(paths)}}
        return [permission for permission, _ in pairs(f"{SUB}/UpdateSubscription", **fields)]

    update = "pubsub.subscriptions.update"
    assert needs("labels") == [update]
    assert needs("dead_letter_policy.dead_letter_topic") == [update, "pubsub.topics.get"]
    assert needs("labels", "push_config") == [update, ACT_AS]
    assert needs("push_config.push_endpoint") == [update, ACT_AS, ACT_AS]
    moved = {"subscription": subscription, "update_mask": {"paths": ["push_config.push_endpoint"]}}
    last = needed_permissions(f"{SUB}/UpdateSubscription", request(**moved))[-1]
    assert last == NeededPermission(ACT_AS, "projects/p", account_of=SUBSCRIPTION)


def test_a_push_config_needs_the_account_that_it_names() -> None:
    # "the caller … must have the iam.serviceAccounts.actAs permission for the service account"
    modify, update = f"{SUB}/ModifyPushConfig", ("pubsub.subscriptions.update", SUBSCRIPTION)
    act_as = (ACT_AS, "projects/p/serviceAccounts/job@example.com")
    assert pairs(modify, subscription=SUBSCRIPTION, push_config=PUSH) == [update, act_as]
    assert pairs(modify, subscription=SUBSCRIPTION, push_config=NO_PUSH) == [update]


def test_a_snapshot_needs_its_project_and_its_subscription() -> None:
    create = f"{SUB}/CreateSnapshot"
    needed = [("pubsub.snapshots.create", "projects/q"), (CONSUME, SUBSCRIPTION)]
    assert pairs(create, name="projects/q/snapshots/any", subscription=SUBSCRIPTION) == needed
    assert pairs(create, name="", subscription=SUBSCRIPTION)[0][1] == "projects/p"


def test_a_seek_to_a_snapshot_needs_the_snapshot() -> None:
    assert pairs(f"{SUB}/Seek", subscription=SUBSCRIPTION, snapshot="") == [(CONSUME, SUBSCRIPTION)]
    needed = [(CONSUME, SUBSCRIPTION), ("pubsub.snapshots.seek", SNAPSHOT)]
    assert pairs(f"{SUB}/Seek", subscription=SUBSCRIPTION, snapshot=SNAPSHOT) == needed


def test_a_detachment_needs_the_topic_of_the_subscription() -> None:
    # "pubsub.topics.detachSubscription on the topic that the subscription is attached to"
    needed = NeededPermission(
        "pubsub.topics.detachSubscription", "projects/p", topic_of=SUBSCRIPTION
    )
    assert needed_permissions(f"{PUB}/DetachSubscription", request(subscription=SUBSCRIPTION)) == [
        needed
    ]


def test_the_collection_of_a_policy_is_that_of_the_resource() -> None:
    for each in (TOPIC, SUBSCRIPTION, SNAPSHOT, SCHEMA):
        collection = each.split("/")[2]
        needed = [(f"pubsub.{collection}.setIamPolicy", each)]
        assert pairs(f"{IAM}/SetIamPolicy", resource=each) == needed


def test_the_revision_of_a_schema_is_the_schema() -> None:
    get = f"{SCHEMAS}/GetSchema"
    assert pairs(get, name=f"{SCHEMA}@c7cfa2a8") == [("pubsub.schemas.get", SCHEMA)]


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        (f"{PUB}/Publish", {"topic": SUBSCRIPTION}),
        (f"{PUB}/Publish", {"topic": "any"}),
        (f"{PUB}/Publish", {"topic": ""}),
        (f"{PUB}/Publish", {"topic": "projects/p/topics/_deleted-topic_"}),
        (f"{PUB}/Publish", {"topic": "*"}),
        (f"{PUB}/ListTopics", {"project": "p"}),
        (f"{PUB}/ListTopics", {"project": ""}),
        (f"{PUB}/ListTopics", {"project": "projects/"}),
        (f"{IAM}/SetIamPolicy", {"resource": "projects/p"}),
        (f"{SCHEMAS}/GetSchema", {"name": f"{TOPIC}@c7cfa2a8"}),
    ],
)
def test_what_is_no_name_is_refused_as_such(method: str, fields: Any) -> None:
    with pytest.raises(InvalidArgument):
        needed_permissions(method, request(**fields))


def test_each_basic_role_includes_the_one_below_it() -> None:
    """Google: "Basic roles": viewer, editor with the viewer's, owner with the editor's."""
    basic = [ROLES[f"roles/{each}"] for each in ("viewer", "editor", "owner")]
    assert basic[0] < basic[1] < basic[2] == KNOWN
    of_pubsub = [ROLES[f"roles/pubsub.{each}"] for each in ("viewer", "editor", "admin")]
    assert of_pubsub[0] < of_pubsub[1] < of_pubsub[2] == KNOWN - {ACT_AS}
