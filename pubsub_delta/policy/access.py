"""Access: the permissions that a caller has on a resource, by the roles that bindings grant.

Bindings add up: those of a resource, of its project, and of the whole store. Nothing takes a
permission away. A binding with a condition grants nothing: conditions are not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from string import ascii_lowercase, ascii_uppercase

from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.policy.iam import Binding, IamPolicy

EVERYTHING = "*"
"""The name of all projects of the store."""
ACT_AS = "iam.serviceAccounts.actAs"
"""The permission that a push subscription needs to send tokens of a service account."""

_READ = ("get", "list")
_SCHEMA = ("attach", "commit", "create", "delete", "rollback")
_COLLECTIONS = ("topics", "subscriptions", "snapshots", "schemas")
_READ_SCHEMAS = frozenset({"pubsub.schemas.listRevisions", "pubsub.schemas.validate"})
_VIEWER = frozenset(f"pubsub.{each}.{verb}" for each in _COLLECTIONS for verb in _READ)
_VIEWER |= _READ_SCHEMAS
_PUBLISHER = frozenset({"pubsub.topics.publish"})
_SUBSCRIBER = frozenset(
    {"pubsub.snapshots.seek", "pubsub.subscriptions.consume", "pubsub.topics.attachSubscription"}
)
_EDITOR = (
    _VIEWER
    | _PUBLISHER
    | _SUBSCRIBER
    | frozenset(f"pubsub.schemas.{verb}" for verb in _SCHEMA)
    | frozenset(
        f"pubsub.{each}.{verb}"
        for each in ("topics", "subscriptions", "snapshots")
        for verb in ("create", "delete", "update")
    )
    | {"pubsub.topics.detachSubscription", "pubsub.topics.updateTag"}
)
_POLICIES = {
    verb: frozenset(f"pubsub.{each}.{verb}" for each in _COLLECTIONS)
    for verb in ("getIamPolicy", "setIamPolicy")
}
_ADMIN = _EDITOR | _POLICIES["getIamPolicy"] | _POLICIES["setIamPolicy"]

ROLES: Mapping[str, frozenset[str]] = {
    "roles/pubsub.publisher": _PUBLISHER,
    "roles/pubsub.subscriber": _SUBSCRIBER,
    "roles/pubsub.viewer": _VIEWER,
    "roles/pubsub.editor": _EDITOR,
    "roles/pubsub.admin": _ADMIN,
    "roles/iam.serviceAccountUser": frozenset({ACT_AS}),
    "roles/viewer": _VIEWER | _POLICIES["getIamPolicy"],
    "roles/editor": _EDITOR | _POLICIES["getIamPolicy"] | {ACT_AS},
    "roles/owner": _ADMIN | {ACT_AS},
}
"""Google's roles, with their permissions of Pub/Sub."""
KNOWN = _ADMIN | {ACT_AS}
"""All known permissions."""

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_KINDS_OF_ADDRESSES = ("user", "serviceAccount", "group", "domain")


@dataclass(frozen=True)
class Caller:
    """A caller: a member, as bindings name it, such as ``user:ann@example.com``."""

    member: str
    groups: frozenset[str] = frozenset()

    def is_among(self, members: Iterable[str]) -> bool:
        """Return whether the caller is one of some members of a binding.

        ``allUsers`` is the same as ``allAuthenticatedUsers``, as every caller has a token.

        >>> ann = Caller("user:ann@example.com", frozenset({"group:crew@example.com"}))
        >>> ann.is_among(["group:Crew@example.com"]), ann.is_among(["domain:example.com"])
        (True, True)
        >>> ann.is_among(["user:bob@example.com", "serviceAccount:ann@example.com"])
        False
        """
        return any(plain(each) in self._names for each in members)

    @property
    def _names(self) -> frozenset[str]:
        kind, _, name = plain(self.member).partition(":")
        own = {plain(self.member), "allUsers", "allAuthenticatedUsers", *map(plain, self.groups)}
        if kind == "user" and "@" in name:
            own.add(f"domain:{name.rpartition('@')[2]}")
        return frozenset(own)


def plain(member: str) -> str:
    """Return a member in the form for comparison: ASCII letters of addresses in lower case.

    Other letters stay: in lower case the Kelvin sign would be a ``k``, and name somebody else.

    >>> plain("serviceAccount:Jobs@Example.com"), plain("principal://pool/subject/Ann")
    ('serviceAccount:jobs@example.com', 'principal://pool/subject/Ann')
    """
    kind, colon, name = member.partition(":")
    return f"{kind}:{name.translate(_LOWER)}" if colon and kind in _KINDS_OF_ADDRESSES else member


@dataclass(frozen=True)
class StaticToken:
    """A bearer token, by its SHA-256 in hexadecimal digits, and its member.

    ``expires``: the time from which it is not valid; None for never.
    """

    sha256: str
    member: str
    expires: datetime | None = None


@dataclass(frozen=True)
class Issuer:
    """An issuer whose JWTs are accepted.

    ``issuer``, ``audience``: the required claims ``iss`` and ``aud``. ``keys``: the file of its
    public keys (JWKS). ``member``: the member of a token, with claims in braces.
    """

    issuer: str
    audience: str
    keys: str
    member: str = "user:{email}"


@dataclass(frozen=True)
class AccessPolicy:
    """The content of a policy file.

    ``groups``: the members of each. ``roles``: custom roles, with their permissions. ``bindings``:
    by the resource on which they grant. ``service_agent``: the member that forwards dead letters,
    with ``{project}`` for the subscription's project.
    """

    tokens: Sequence[StaticToken] = ()
    issuers: Sequence[Issuer] = ()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bindings: Mapping[str, Sequence[Binding]] = field(default_factory=dict)
    service_agent: str = "serviceAccount:service-{project}@gcp-sa-pubsub.iam.gserviceaccount.com"

    def caller(self, member: str) -> Caller:
        """Return a member with the groups that it is in.

        >>> policy = AccessPolicy(groups={"group:crew@x.y": frozenset({"user:ann@x.y"})})
        >>> sorted(policy.caller("user:Ann@x.y").groups)
        ['group:crew@x.y']
        """
        name = plain(member)
        groups = self.groups.items()
        return Caller(member, frozenset(g for g, has in groups if name in map(plain, has)))

    def permissions(self, role: str) -> frozenset[str]:
        """Return the permissions of a role; none if the role does not exist."""
        return ROLES.get(role) or self.roles.get(role) or frozenset()

    def forwarder(self, project: str) -> Caller:
        """Return the member that forwards the dead letters of a project's subscriptions.

        >>> AccessPolicy().forwarder("local").member
        'serviceAccount:service-local@gcp-sa-pubsub.iam.gserviceaccount.com'
        """
        return self.caller(self.service_agent.replace("{project}", project))


def holders(resource: str) -> Iterator[str]:
    """Return the names whose bindings hold for a resource: its own, its project's and ``*``.

    >>> list(holders("projects/local/topics/flights"))
    ['projects/local/topics/flights', 'projects/local', '*']
    """
    yield resource
    project = "/".join(resource.split("/")[:2])
    if project != resource:
        yield project
    yield EVERYTHING


def is_granted(
    policy: AccessPolicy,
    caller: Caller,
    permission: str,
    resource: str,
    stored: Callable[[str], Sequence[Binding]] = lambda _: (),
) -> bool:
    """Return whether a caller has a permission on a resource.

    ``stored``: returns the bindings that are stored with a resource; called only if the policy file
    does not grant the permission.

    >>> bound = Binding("roles/pubsub.publisher", ("user:ann@example.com",))
    >>> policy = AccessPolicy(bindings={"projects/local": [bound]})
    >>> ann, flights = policy.caller("user:ann@example.com"), "projects/local/topics/flights"
    >>> is_granted(policy, ann, "pubsub.topics.publish", flights)
    True
    >>> is_granted(policy, ann, "pubsub.topics.get", flights)
    False
    """

    def grants(bindings: Sequence[Binding]) -> bool:
        return any(
            binding.condition is None
            and permission in policy.permissions(binding.role)
            and caller.is_among(binding.members)
            for binding in bindings
        )

    named = list(holders(resource))
    return any(grants(policy.bindings.get(each, ())) for each in named) or any(
        grants(stored(each)) for each in named
    )


def check_enforceable(policy: AccessPolicy, given: IamPolicy) -> None:
    """Refuse to store bindings that would grant nothing."""
    for place, binding in enumerate(given.bindings):
        where = f"policy.bindings[{place}]"
        if binding.condition is not None:
            raise Unimplemented(
                f"{where}.condition: {binding.condition.title or binding.condition.expression!r}: "
                "conditions are not evaluated, and such a binding would grant nothing; leave it out"
            )
        check_role(policy.roles, binding.role, f"{where}.role")


def check_role(roles: Mapping[str, frozenset[str]], role: str, where: str) -> str:
    """Return a role that exists; InvalidArgument for others."""
    if role not in ROLES and role not in roles:
        known = ", ".join([*ROLES, *roles])
        raise InvalidArgument(
            f"{where}: {role!r} is not a role that the server knows; {known} are accepted"
        )
    return role
