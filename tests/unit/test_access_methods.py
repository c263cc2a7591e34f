"""The permissions of each method, on a request that names all that needs one: Google's table."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("grpc")

from pubsub_delta.policy.access import ACT_AS
from pubsub_delta.policy.permissions import METHODS, needed_permissions
from pubsub_delta.server.grpc_services import SERVICES

TOPIC, SUBSCRIPTION = "projects/t/topics/any", "projects/s/subscriptions/any"
SNAPSHOT, SCHEMA = "projects/n/snapshots/any", "projects/c/schemas/any"
DEAD, EMAIL = "projects/d/topics/dead", "job@example.com"

PUSH = {"push_endpoint": "https://x.y", "oidc_token": {"service_account_email": EMAIL}}
TOPIC_FIELDS: dict[str, Any] = {"name": TOPIC, "schema_settings": {"schema": SCHEMA}}
SUBSCRIPTION_FIELDS: dict[str, Any] = {
    "name": SUBSCRIPTION,
    "topic": TOPIC,
    "dead_letter_policy": {"dead_letter_topic": DEAD},
    "push_config": PUSH,
}
ACCOUNT = (ACT_AS, f"projects/s/serviceAccounts/{EMAIL}")
CONSUMES = [("pubsub.subscriptions.consume", SUBSCRIPTION)]
EACH: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "CreateTopic": (
        TOPIC_FIELDS,
        [("pubsub.topics.create", "projects/t"), ("pubsub.schemas.attach", SCHEMA)],
    ),
    "UpdateTopic": (
        {"topic": TOPIC_FIELDS, "update_mask": {"paths": ["schema_settings.encoding"]}},
        [("pubsub.topics.update", TOPIC), ("pubsub.schemas.attach", SCHEMA)],
    ),
    "Publish": ({"topic": TOPIC}, [("pubsub.topics.publish", TOPIC)]),
    "GetTopic": ({"topic": TOPIC}, [("pubsub.topics.get", TOPIC)]),
    "ListTopics": ({"project": "projects/t"}, [("pubsub.topics.list", "projects/t")]),
    "ListTopicSubscriptions": ({"topic": TOPIC}, [("pubsub.topics.get", TOPIC)]),
    "ListTopicSnapshots": ({"topic": TOPIC}, [("pubsub.topics.get", TOPIC)]),
    "DeleteTopic": ({"topic": TOPIC}, [("pubsub.topics.delete", TOPIC)]),
    "DetachSubscription": (
        {"subscription": SUBSCRIPTION},
        [("pubsub.topics.detachSubscription", "projects/s")],  # on its topic, which is read
    ),
    "CreateSubscription": (
        SUBSCRIPTION_FIELDS,
        [
            ("pubsub.subscriptions.create", "projects/s"),
            ("pubsub.topics.attachSubscription", TOPIC),
            ("pubsub.topics.get", DEAD),
            ACCOUNT,
        ],
    ),
    "GetSubscription": (
        {"subscription": SUBSCRIPTION},
        [("pubsub.subscriptions.get", SUBSCRIPTION)],
    ),
    "UpdateSubscription": (
        {
            "subscription": SUBSCRIPTION_FIELDS,
            "update_mask": {"paths": ["dead_letter_policy", "push_config"]},
        },
        [("pubsub.subscriptions.update", SUBSCRIPTION), ("pubsub.topics.get", DEAD), ACCOUNT],
    ),
    "ListSubscriptions": (
        {"project": "projects/s"},
        [("pubsub.subscriptions.list", "projects/s")],
    ),
    "DeleteSubscription": (
        {"subscription": SUBSCRIPTION},
        [("pubsub.subscriptions.delete", SUBSCRIPTION)],
    ),
    "ModifyAckDeadline": ({"subscription": SUBSCRIPTION}, CONSUMES),
    "Acknowledge": ({"subscription": SUBSCRIPTION}, CONSUMES),
    "Pull": ({"subscription": SUBSCRIPTION}, CONSUMES),
    "StreamingPull": ({"subscription": SUBSCRIPTION}, CONSUMES),
    "ModifyPushConfig": (
        {"subscription": SUBSCRIPTION, "push_config": PUSH},
        [("pubsub.subscriptions.update", SUBSCRIPTION), ACCOUNT],
    ),
    "GetSnapshot": ({"snapshot": SNAPSHOT}, [("pubsub.snapshots.get", SNAPSHOT)]),
    "ListSnapshots": ({"project": "projects/n"}, [("pubsub.snapshots.list", "projects/n")]),
    "CreateSnapshot": (
        {"name": SNAPSHOT, "subscription": SUBSCRIPTION},
        [("pubsub.snapshots.create", "projects/n"), *CONSUMES],
    ),
    "UpdateSnapshot": ({"snapshot": {"name": SNAPSHOT}}, [("pubsub.snapshots.update", SNAPSHOT)]),
    "DeleteSnapshot": ({"snapshot": SNAPSHOT}, [("pubsub.snapshots.delete", SNAPSHOT)]),
    "Seek": (
        {"subscription": SUBSCRIPTION, "snapshot": SNAPSHOT},
        [*CONSUMES, ("pubsub.snapshots.seek", SNAPSHOT)],
    ),
    "CreateSchema": ({"parent": "projects/c"}, [("pubsub.schemas.create", "projects/c")]),
    "GetSchema": ({"name": SCHEMA}, [("pubsub.schemas.get", SCHEMA)]),
    "ListSchemas": ({"parent": "projects/c"}, [("pubsub.schemas.list", "projects/c")]),
    "ListSchemaRevisions": ({"name": SCHEMA}, [("pubsub.schemas.listRevisions", SCHEMA)]),
    "CommitSchema": ({"name": SCHEMA}, [("pubsub.schemas.commit", SCHEMA)]),
    "RollbackSchema": ({"name": SCHEMA}, [("pubsub.schemas.rollback", SCHEMA)]),
    "DeleteSchemaRevision": (
        {"name": f"{SCHEMA}@0a0b0c0d"},
        [("pubsub.schemas.delete", SCHEMA)],
    ),
    "DeleteSchema": ({"name": SCHEMA}, [("pubsub.schemas.delete", SCHEMA)]),
    "ValidateSchema": ({"parent": "projects/c"}, [("pubsub.schemas.validate", "projects/c")]),
    "ValidateMessage": (
        {"parent": "projects/p", "name": SCHEMA},
        [("pubsub.schemas.validate", "projects/p"), ("pubsub.schemas.validate", SCHEMA)],
    ),
    "SetIamPolicy": ({"resource": TOPIC}, [("pubsub.topics.setIamPolicy", TOPIC)]),
    "GetIamPolicy": ({"resource": SCHEMA}, [("pubsub.schemas.getIamPolicy", SCHEMA)]),
    "TestIamPermissions": ({"resource": TOPIC}, []),
}


@pytest.mark.parametrize("method", METHODS)
def test_a_method_needs_the_permissions_of_googles_table(method: str) -> None:
    """Google, access control with IAM: "Required Pub/Sub permissions"; no more and no less."""
    service, _, name = method.rpartition("/")
    fields, expected = EACH[name]
    asked = SERVICES[service][name].request(**fields)
    needed = needed_permissions(method, asked)
    found = [(each.permission, each.resource) for each in needed if not each.account_of]
    assert found == expected
    assert [each.topic_of for each in needed if each.topic_of] == (
        [SUBSCRIPTION] if name == "DetachSubscription" else []
    )
