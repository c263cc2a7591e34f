"""IAM policies of topics, subscriptions and snapshots: what one may say, and how it is replaced.

They are kept and returned. Nobody is refused anything because of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from pubsub_delta.errors import Aborted, InvalidArgument

VERSIONS = (0, 1, 3)
"""Of the format of policies. Conditions need 3 (Google: so that no older client drops them)."""
MOST_MEMBERS = 1_500
"""Of all bindings of a policy together (Google's limit)."""
LONGEST = 100_000
"""Bytes of a policy as it is stored."""
NO_POLICY = "002001"
"""The etag of a resource that was never given a policy, in hexadecimal digits (Google: ACAB)."""

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
"""The permissions that there are on a resource, by its collection (Google's list)."""


@dataclass(frozen=True)
class Condition:
    """When a binding holds, in the Common Expression Language."""

    expression: str
    title: str = ""
    description: str = ""
    location: str = ""


@dataclass(frozen=True)
class Binding:
    """Who has a role."""

    role: str
    members: tuple[str, ...]
    condition: Condition | None = None


@dataclass(frozen=True)
class IamPolicy:
    """The policy of a resource. ``etag``: hexadecimal digits, others with each change."""

    bindings: tuple[Binding, ...] = ()
    version: int = 0
    etag: str = NO_POLICY


def check_policy(policy: IamPolicy) -> IamPolicy:
    """Return a policy that may be stored, or raise InvalidArgument.

    Its version is 3 where it has conditions; bindings without members are left out.
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
    """Refuse to show a policy in a version that cannot have its conditions."""
    if version not in VERSIONS:
        raise InvalidArgument(f"options.requested_policy_version: {version}; 0, 1 or 3 is accepted")
    if version < 3 and any(each.condition is not None for each in policy.bindings):
        raise InvalidArgument(
            f"options.requested_policy_version: {version}; the policy has conditions, and 3 is "
            "accepted"
        )


def replaced(stored: IamPolicy, new: IamPolicy, etag: str, *, with_bindings: bool) -> IamPolicy:
    """Return the policy that takes the place of one, under another etag.

    ``new.etag``: that of the policy that was read, or none. Aborted if it is another by now
    (Google: read, change and write again then).

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
    """Return which of some permissions there are on a resource; nobody is refused any of them.

    >>> granted("topics", ["pubsub.topics.publish", "pubsub.subscriptions.consume"])
    ['pubsub.topics.publish']
    """
    asked = list(asked)
    for each in asked:
        if "*" in each:
            raise InvalidArgument(
                f"permissions: {each!r} has a wildcard; single permissions are accepted"
            )
    return [each for each in asked if each in PERMISSIONS[collection]]


def as_text(policy: IamPolicy) -> str:
    """Return a policy as it is stored."""
    return json.dumps(asdict(policy), separators=(",", ":"))


def of_text(text: str | None) -> IamPolicy:
    """Return the policy that is stored, or the empty one.

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
