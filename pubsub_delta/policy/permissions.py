"""The permissions that a caller needs for each method, and on which resources (Google's table).

Google: access control with IAM, "Required Pub/Sub permissions". Its table has no row for
``ListTopicSubscriptions`` and ``ListTopicSnapshots``; they need the permission to read the topic.
Beyond Google's rows, another resource that a request names needs a permission, too, if the response
would reveal whether it exists: a dead-letter topic ``pubsub.topics.get``, and the schema of
``ValidateMessage`` ``pubsub.schemas.validate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import resource_name, revision_name
from pubsub_delta.policy.access import ACT_AS


@dataclass(frozen=True)
class PermissionRule:
    """A permission that a method needs.

    ``field``: the field that names the resource; ``otherwise``: the field to use if that is empty.
    ``of_project``: on the project of the named resource. ``of_topic``: on the topic of the named
    subscription. ``of_account``: on the service account whose tokens the named subscription sends
    already, if any. ``if_given``: only if the field is set. ``with_mask``: only if the update mask
    names that field. ``within_mask``: only if it names a part of that field.
    """

    permission: str
    field: str
    otherwise: str = ""
    of_project: bool = False
    of_topic: bool = False
    of_account: bool = False
    if_given: bool = False
    with_mask: str = ""
    within_mask: str = ""


@dataclass(frozen=True)
class NeededPermission:
    """A permission that a request needs on a resource.

    ``topic_of``: a subscription; the resource is its topic, or its project if it has no topic.
    ``account_of``: a subscription; the resource is the service account whose tokens it sends;
    without tokens nothing is needed.
    """

    permission: str
    resource: str
    topic_of: str = ""
    account_of: str = ""


def _on(permission: str, field: str) -> PermissionRule:
    return PermissionRule(f"pubsub.{permission}", field)


def _in(permission: str, field: str, otherwise: str = "") -> PermissionRule:
    return PermissionRule(f"pubsub.{permission}", field, otherwise, of_project=True)


def _also(permission: str, field: str, mask: str = "") -> PermissionRule:
    return PermissionRule(f"pubsub.{permission}", field, if_given=True, with_mask=mask)


def _as(field: str, mask: str = "") -> PermissionRule:
    return PermissionRule(ACT_AS, field, if_given=True, with_mask=mask)


_EMAIL = "push_config.oidc_token.service_account_email"
_DEAD_LETTERS = "dead_letter_policy.dead_letter_topic"
_SETTINGS = "schema_settings"
_CONSUME = (_on("subscriptions.consume", "subscription"),)

METHODS: Mapping[str, tuple[PermissionRule, ...]] = {
    "google.pubsub.v1.Publisher/CreateTopic": (
        _in("topics.create", "name"),
        _also("schemas.attach", f"{_SETTINGS}.schema"),
    ),
    "google.pubsub.v1.Publisher/UpdateTopic": (
        _on("topics.update", "topic.name"),
        _also("schemas.attach", f"topic.{_SETTINGS}.schema", _SETTINGS),
    ),
    "google.pubsub.v1.Publisher/Publish": (_on("topics.publish", "topic"),),
    "google.pubsub.v1.Publisher/GetTopic": (_on("topics.get", "topic"),),
    "google.pubsub.v1.Publisher/ListTopics": (_in("topics.list", "project"),),
    "google.pubsub.v1.Publisher/ListTopicSubscriptions": (_on("topics.get", "topic"),),
    "google.pubsub.v1.Publisher/ListTopicSnapshots": (_on("topics.get", "topic"),),
    "google.pubsub.v1.Publisher/DeleteTopic": (_on("topics.delete", "topic"),),
    "google.pubsub.v1.Publisher/DetachSubscription": (
        PermissionRule("pubsub.topics.detachSubscription", "subscription", of_topic=True),
    ),
    "google.pubsub.v1.Subscriber/CreateSubscription": (
        _in("subscriptions.create", "name", "topic"),
        _on("topics.attachSubscription", "topic"),
        _also("topics.get", _DEAD_LETTERS),
        _as(_EMAIL),
    ),
    "google.pubsub.v1.Subscriber/GetSubscription": (_on("subscriptions.get", "subscription"),),
    "google.pubsub.v1.Subscriber/UpdateSubscription": (
        _on("subscriptions.update", "subscription.name"),
        _also("topics.get", f"subscription.{_DEAD_LETTERS}", "dead_letter_policy"),
        _as(f"subscription.{_EMAIL}", "push_config"),
        # The endpoint alone can change: then the present token goes to another receiver.
        PermissionRule(ACT_AS, "subscription.name", of_account=True, within_mask="push_config"),
    ),
    "google.pubsub.v1.Subscriber/ListSubscriptions": (_in("subscriptions.list", "project"),),
    "google.pubsub.v1.Subscriber/DeleteSubscription": (
        _on("subscriptions.delete", "subscription"),
    ),
    "google.pubsub.v1.Subscriber/ModifyAckDeadline": _CONSUME,
    "google.pubsub.v1.Subscriber/Acknowledge": _CONSUME,
    "google.pubsub.v1.Subscriber/Pull": _CONSUME,
    "google.pubsub.v1.Subscriber/StreamingPull": _CONSUME,
    "google.pubsub.v1.Subscriber/ModifyPushConfig": (
        _on("subscriptions.update", "subscription"),
        _as(_EMAIL),
    ),
    "google.pubsub.v1.Subscriber/GetSnapshot": (_on("snapshots.get", "snapshot"),),
    "google.pubsub.v1.Subscriber/ListSnapshots": (_in("snapshots.list", "project"),),
    "google.pubsub.v1.Subscriber/CreateSnapshot": (
        _in("snapshots.create", "name", "subscription"),
        *_CONSUME,
    ),
    "google.pubsub.v1.Subscriber/UpdateSnapshot": (_on("snapshots.update", "snapshot.name"),),
    "google.pubsub.v1.Subscriber/DeleteSnapshot": (_on("snapshots.delete", "snapshot"),),
    "google.pubsub.v1.Subscriber/Seek": (*_CONSUME, _also("snapshots.seek", "snapshot")),
    "google.pubsub.v1.SchemaService/CreateSchema": (_in("schemas.create", "parent"),),
    "google.pubsub.v1.SchemaService/GetSchema": (_on("schemas.get", "name"),),
    "google.pubsub.v1.SchemaService/ListSchemas": (_in("schemas.list", "parent"),),
    "google.pubsub.v1.SchemaService/ListSchemaRevisions": (_on("schemas.listRevisions", "name"),),
    "google.pubsub.v1.SchemaService/CommitSchema": (_on("schemas.commit", "name"),),
    "google.pubsub.v1.SchemaService/RollbackSchema": (_on("schemas.rollback", "name"),),
    "google.pubsub.v1.SchemaService/DeleteSchemaRevision": (_on("schemas.delete", "name"),),
    "google.pubsub.v1.SchemaService/DeleteSchema": (_on("schemas.delete", "name"),),
    "google.pubsub.v1.SchemaService/ValidateSchema": (_in("schemas.validate", "parent"),),
    "google.pubsub.v1.SchemaService/ValidateMessage": (
        _in("schemas.validate", "parent"),
        _also("schemas.validate", "name"),
    ),
    "google.iam.v1.IAMPolicy/SetIamPolicy": (_on("{collection}.setIamPolicy", "resource"),),
    "google.iam.v1.IAMPolicy/GetIamPolicy": (_on("{collection}.getIamPolicy", "resource"),),
    "google.iam.v1.IAMPolicy/TestIamPermissions": (),
}
"""The permissions of each method, by its full name."""


def needed_permissions(method: str, request: Any) -> list[NeededPermission]:
    """Return the permissions that a request needs; InvalidArgument for a name that is not valid.

    ``request``: a message of the API, whose fields are attributes. The error of a wrong name does
    not reveal what exists.

    >>> from types import SimpleNamespace as Request
    >>> publish, sent = "google.pubsub.v1.Publisher/Publish", Request(topic="projects/p/topics/any")
    >>> [needed] = needed_permissions(publish, sent)
    >>> needed.permission, needed.resource
    ('pubsub.topics.publish', 'projects/p/topics/any')
    """
    found = []
    for needed in METHODS[method]:
        value = _value(request, needed.field)
        if not value and needed.otherwise:
            value = _value(request, needed.otherwise)
        if (needed.if_given and not value) or not _is_masked(request, needed):
            continue
        found.append(_needed_permission(needed, value, request))
    return found


def _needed_permission(needed: PermissionRule, value: str, request: Any) -> NeededPermission:
    if needed.of_account:
        name = _resource(value, "subscriptions", needed.field)
        return NeededPermission(ACT_AS, _project(name), account_of=name)
    if needed.permission == ACT_AS:
        return NeededPermission(
            ACT_AS, f"{_project(_subscription(request))}/serviceAccounts/{value}"
        )
    if needed.of_project:
        return NeededPermission(needed.permission, _project(value, needed.field))
    collection = needed.permission.split(".")[1]
    if needed.of_topic:
        name = _resource(value, "subscriptions", needed.field)
        return NeededPermission(needed.permission, _project(name), topic_of=name)
    if collection == "{collection}":
        name = str(resource_name(value, needed.field))
        collection = name.split("/")[2]
        return NeededPermission(needed.permission.format(collection=collection), name)
    return NeededPermission(needed.permission, _resource(value, collection, needed.field))


def _resource(value: str, collection: str, field: str) -> str:
    """Return the full name of a resource of a collection; a schema's without its revision."""
    if collection == "schemas" and "@" in value:
        value = str(revision_name(value, "")[0])
    name = resource_name(value, field)
    if name.collection != collection:
        raise InvalidArgument(
            f"{field}: {value!r}; projects/{{project}}/{collection}/{{id}} is accepted"
        )
    return str(name)


def _project(name: str, field: str = "name") -> str:
    """Return the project of a full name, or of ``projects/{project}``.

    >>> _project("projects/p/topics/any"), _project("projects/p")
    ('projects/p', 'projects/p')
    """
    parts = name.split("/")
    if len(parts) < 2 or parts[0] != "projects" or not parts[1]:
        raise InvalidArgument(f"{field}: {name!r}; projects/{{project}}/… is accepted")
    return "/".join(parts[:2])


def _subscription(request: Any) -> str:
    """Return the subscription that a request creates or changes."""
    name: Any = getattr(request, "subscription", None) or getattr(request, "name", "")
    name = name if isinstance(name, str) else name.name
    return name or str(getattr(request, "topic", ""))


def _value(request: Any, path: str) -> str:
    found: Any = request
    for part in path.split("."):
        found = getattr(found, part)
    return str(found)


def _is_masked(request: Any, needed: PermissionRule) -> bool:
    if not needed.with_mask and not needed.within_mask:
        return True
    paths = request.update_mask.paths
    if needed.within_mask:
        return any(path.startswith(f"{needed.within_mask}.") for path in paths)
    return any(path.split(".")[0] == needed.with_mask for path in paths)
