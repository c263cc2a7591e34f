"""Resource names: ``projects/{project}/{collection}/{id}``, and short ids that stand for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pubsub_delta.errors import InvalidArgument

DELETED_TOPIC = "_deleted-topic_"
"""The topic of a subscription whose topic was deleted (Pub/Sub's own word)."""

_ID = re.compile(r"[A-Za-z][A-Za-z0-9\-_.~+%]{2,254}")
_PROJECT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9\-._:]{0,61}[A-Za-z0-9])?")
_SINGULAR = {
    "topics": "topic",
    "subscriptions": "subscription",
    "snapshots": "snapshot",
    "schemas": "schema",
}
_REVISION_ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, order=True)
class ResourceName:
    """A resource's full name in its parts; ``str()`` gives the full name.

    >>> str(ResourceName("local", "topics", "flights"))
    'projects/local/topics/flights'
    """

    project: str
    collection: str
    id: str

    def __str__(self) -> str:
        return f"projects/{self.project}/{self.collection}/{self.id}"


def check_project(project: str) -> str:
    """Return a project id that a full name can have; InvalidArgument for others."""
    if not isinstance(project, str) or not _PROJECT.fullmatch(project):
        raise InvalidArgument(
            f"project: {project!r} is not a project id; 1 to 63 letters, digits, "
            "'-', '.', '_' or ':' are accepted, with a letter or digit at both ends"
        )
    return project


def topic_name(name: str, project: str) -> ResourceName:
    """Read a topic's short id or full name; a short id means the given project.

    >>> topic_name("flights", "local") == topic_name("projects/local/topics/flights", "other")
    True
    """
    return _read(name, "topics", project)


def subscription_name(name: str, project: str) -> ResourceName:
    """Read a subscription's short id or full name; a short id means the given project."""
    return _read(name, "subscriptions", project)


def snapshot_name(name: str, project: str) -> ResourceName:
    """Read a snapshot's short id or full name; a short id means the given project."""
    return _read(name, "snapshots", project)


def resource_name(name: str, field: str) -> ResourceName:
    """Read the full name of a resource of any kind.

    >>> resource_name("projects/p/snapshots/before", "resource").collection
    'snapshots'
    """
    parts = name.split("/")
    if len(parts) != 4 or parts[2] not in _SINGULAR:
        accepted = ", ".join(f"projects/{{project}}/{each}/{{id}}" for each in _SINGULAR)
        raise InvalidArgument(f"{field}: {name!r} is not a resource; {accepted} are accepted")
    return _read(name, parts[2], parts[1])


def schema_name(name: str, project: str) -> ResourceName:
    """Read a schema's short id or full name; a short id means the given project."""
    return _read(name, "schemas", project)


def revision_name(name: str, project: str) -> tuple[ResourceName, str]:
    """Read the name of a schema, perhaps with a revision; without one its id is empty.

    >>> revision_name("states@c7cfa2a8", "local")[1]
    'c7cfa2a8'
    """
    if not isinstance(name, str) or "@" not in name:
        return schema_name(name, project), ""
    schema, _, revision_id = name.partition("@")
    if not _REVISION_ID.fullmatch(revision_id):
        raise InvalidArgument(
            f"schema: {name!r} names no revision; a schema, '@' and 8 hexadecimal digits are "
            "accepted"
        )
    return schema_name(schema, project), revision_id


def _read(name: str, collection: str, project: str) -> ResourceName:
    kind = _SINGULAR[collection]
    if not isinstance(name, str):
        raise InvalidArgument(
            f"{kind}: {name!r} is not a name; a string is accepted: "
            f"an id or projects/{{project}}/{collection}/{{id}}"
        )
    resource_id = name
    if "/" in name:
        parts = name.split("/")
        if len(parts) != 4 or parts[0] != "projects" or parts[2] != collection:
            raise InvalidArgument(
                f"{kind}: {name!r} is not a full name; "
                f"projects/{{project}}/{collection}/{{id}} is accepted"
            )
        project, resource_id = parts[1], parts[3]
    if not _ID.fullmatch(resource_id) or resource_id.startswith("goog"):
        raise InvalidArgument(
            f"{kind}: {resource_id!r} is not a {kind} id; 3 to 255 characters are accepted, "
            "a letter first, then letters, digits and -_.~+%, not starting with 'goog'"
        )
    return ResourceName(check_project(project), collection, resource_id)
