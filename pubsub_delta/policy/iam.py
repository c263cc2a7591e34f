"""IAM policies of topics, subscriptions and snapshots: their validation and replacement.

The store keeps and returns policies; only a server with a policy file enforces them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from pubsub_delta.errors import Aborted, InvalidArgument

VERSIONS = (0, 1, 3)
"""Versions of the format of policies. Conditions need 3 (Google: no older client drops them)."""
MOST_MEMBERS = 1_500
"""The most members of all bindings of a policy together (Google's limit)."""
LONGEST = 100_000
"""Bytes of a policy as it is stored."""
NO_POLICY = "002001"
"""The etag of a resource without a policy, in hexadecimal digits (Google: ACAB)."""

_ROLE = re.compile(r"(?:(?:projects|organizations)/[^/\s]+/)?roles/[A-Za-z0-9_.]+")
_MEMBER = re.compile(r"allUsers|allAuthenticatedUsers|(?:[A-Za-z]+:)+\S+")
_COMMON = ("delete", "get", "getIamPolicy", "setIamPolicy", "update", "updateTag")
_OWN = {
    "topics": ("attachSubscription", "detachSubscription", "publish"),
    "subscriptions": ("consume",),
    "snapshots": ("seek",),
}
PERMISSIONS = {
    collection: frozenset(f"pubsub.{collection}.{verb}" for verb in (*_COMMON, *own))
    for collection, own in _OWN.items()
}
"""The permissions on a resource, by its collection (Google's list)."""


@dataclass(frozen=True)
class Condition:
    """The condition of a binding, in the Common Expression Language."""

    expression: str
    title: str = ""
    description: str = ""
    location: str = ""


@dataclass(frozen=True)
class Binding:
    """A role, and the members that have it."""

    role: str
    members: tuple[str, ...]
    condition: Condition | None = None


@dataclass(frozen=True)
class IamPolicy:
    """The policy of a resource. ``etag``: hexadecimal digits, which each change replaces."""

    bindings: tuple[Binding, ...] = ()
    version: int = 0
    etag: str = NO_POLICY


def check_policy(policy: IamPolicy) -> IamPolicy:
    """Return a policy to store; InvalidArgument if it breaks a rule.

    Its version is 3 if it has conditions; bindings without members are left out.
    """
    if policy.version not in VERSIONS:
        raise InvalidArgument(f"policy.version: {policy.version}; 0, 1 or 3 is accepted")
    members = 0
    for place, binding in enumerate(policy.bindings):
        where = f"policy.bindings[{place}]"
        if not _ROLE.fullmatch(binding.role):
            raise InvalidArgument(
                f"{where}.role: {binding.role!r} is not a role; roles/{{role}} or "
                "projects/{project}/roles/{role} is accepted"
            )
        for member in binding.members:
            if not _MEMBER.fullmatch(member):
                raise InvalidArgument(
                    f"{where}.members: {member!r} is not a principal; allUsers, "
                    "allAuthenticatedUsers, or user:, group:, serviceAccount:, domain: and the "
                    "like before a name is accepted"
                )
        if binding.condition is not None and policy.version != 3:
            raise InvalidArgument(
                f"{where}.condition: the version of the policy is {policy.version}; with "
                "conditions 3 is accepted"
            )
        members += len(binding.members)
    if members > MOST_MEMBERS:
        raise InvalidArgument(
            f"policy.bindings: {members:,} members; up to {MOST_MEMBERS:,} are accepted"
        )
    kept = replace(policy, bindings=tuple(each for each in policy.bindings if each.members))
    size = len(as_text(kept).encode())
    if size > LONGEST:
        raise InvalidArgument(f"policy: {size:,} bytes; up to {LONGEST:,} are accepted")
    return kept


def check_requested(policy: IamPolicy, version: int) -> None:
    """Raise InvalidArgument for a requested version that cannot have the policy's conditions."""
    if version not in VERSIONS:
        raise InvalidArgument(f"options.requested_policy_version: {version}; 0, 1 or 3 is accepted")
    if version < 3 and any(each.condition is not None for each in policy.bindings):
        raise InvalidArgument(
            f"options.requested_policy_version: {version}; the policy has conditions, and 3 is "
            "accepted"
        )


def replaced(stored: IamPolicy, new: IamPolicy, etag: str, *, with_bindings: bool) -> IamPolicy:
    """Return the replacement of a policy, with a new etag.

    ``new.etag``: the etag of the policy that was read, or none. Aborted if it differs from the
    stored one (Google: read, change and write again then).

    >>> replaced(IamPolicy(etag="02"), IamPolicy(etag=""), "03", with_bindings=True).etag
    '03'
    """
    if new.etag and new.etag != stored.etag:
        raise Aborted(
            "policy.etag: the policy was changed since it was read; read it, change it and set it "
            "again"
        )
    return replace(new if with_bindings else stored, etag=etag)


def granted(collection: str, asked: Iterable[str]) -> list[str]:
    """Return those of some permissions that exist on a resource.

    >>> granted("topics", ["pubsub.topics.publish", "pubsub.subscriptions.consume"])
    ['pubsub.topics.publish']
    """
    asked = list(asked)
    for each in asked:
        if "*" in each:
            raise InvalidArgument(
                f"permissions: {each!r} has a wildcard; single permissions are accepted"
            )
    return [each for each in asked if each in PERMISSIONS.get(collection, ())]


def as_text(policy: IamPolicy) -> str:
    """Return a policy as stored text."""
    return json.dumps(asdict(policy), separators=(",", ":"))


def of_text(text: str | None) -> IamPolicy:
    """Return the policy of a stored text, or the empty policy.

    >>> of_text(as_text(IamPolicy((Binding("roles/x", ("user:y",)),), 1, "02"))).bindings
    (Binding(role='roles/x', members=('user:y',), condition=None),)
    """
    if text is None:
        return IamPolicy()
    read = json.loads(text)
    bindings = tuple(
        Binding(
            each["role"],
            tuple(each["members"]),
            None if each["condition"] is None else Condition(**each["condition"]),
        )
        for each in read["bindings"]
    )
    return IamPolicy(bindings, read["version"], read["etag"])
