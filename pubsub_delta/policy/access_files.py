"""Policy files: parses the document that grants permissions, strictly.

An error names its place and refuses the whole file: a policy in part could grant or deny access
wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pubsub_delta.clock import read_time
from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.names import check_project, resource_name
from pubsub_delta.policy.access import (
    EVERYTHING,
    KNOWN,
    AccessPolicy,
    Issuer,
    StaticToken,
    check_role,
)
from pubsub_delta.policy.iam import Binding

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CALLER = re.compile(r"(?:user|serviceAccount):\S+@\S+|principal://\S+")
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers|(?:user|serviceAccount|group):\S+@\S+|domain:[^\s@]+|"
    r"principal://\S+"
)
_GROUP = re.compile(r"group:\S+@\S+")
_OWN_ROLE = re.compile(r"(?:projects|organizations)/[^/\s]+/roles/[A-Za-z0-9_.]+")
_SERVICE_ACCOUNT = re.compile(r"projects/([^/]+)/serviceAccounts/[^/\s]+@[^/\s]+")
_A_CALLER = "user:ADDRESS, serviceAccount:ADDRESS or principal://…"
_A_MEMBER = f"{_A_CALLER}, group:ADDRESS, domain:NAME, allUsers or allAuthenticatedUsers"


def read_policy(document: Any) -> AccessPolicy:
    """Return the policy of a document; InvalidArgument names the place of an error.

    >>> policy = read_policy({"bindings": {"projects/local": [
    ...     {"role": "roles/pubsub.viewer", "members": ["user:ann@example.com"]}]}})
    >>> policy.bindings["projects/local"][0].role
    'roles/pubsub.viewer'
    """
    optional = ("tokens", "issuers", "groups", "roles", "bindings", "service_agent")
    given = _mapping(document, "the policy file", (), optional)
    roles = {
        _matching(_OWN_ROLE, name, "roles", "projects/{project}/roles/{role}"): _permissions(
            permissions, f"roles[{name!r}]"
        )
        for name, permissions in _mapping(given.get("roles", {}), "roles").items()
    }
    groups = {
        _matching(_GROUP, name, "groups", "group:ADDRESS"): frozenset(
            _matching(_CALLER, each, f"groups[{name!r}]", _A_CALLER)
            for each in _list(members, f"groups[{name!r}]")
        )
        for name, members in _mapping(given.get("groups", {}), "groups").items()
    }
    bindings = {
        _holder(resource): [
            _binding(each, f"bindings[{resource!r}][{place}]", roles, groups)
            for place, each in enumerate(_list(of, f"bindings[{resource!r}]"))
        ]
        for resource, of in _mapping(given.get("bindings", {}), "bindings").items()
    }
    agent = given.get("service_agent", AccessPolicy.service_agent)
    plain = _text(agent, "service_agent").replace("{project}", "project")
    _matching(_CALLER, plain, "service_agent", _A_CALLER)
    return AccessPolicy(
        tokens=_tokens(given.get("tokens", [])),
        issuers=[
            _issuer(each, f"issuers[{place}]")
            for place, each in enumerate(_list(given.get("issuers", []), "issuers"))
        ],
        groups=groups,
        roles=roles,
        bindings=bindings,
        service_agent=agent,
    )


def _tokens(given: Any) -> list[StaticToken]:
    tokens = [_token(each, f"tokens[{place}]") for place, each in enumerate(_list(given, "tokens"))]
    first: dict[str, int] = {}
    for place, each in enumerate(tokens):
        earlier = first.setdefault(each.sha256, place)
        if each.member != tokens[earlier].member:
            raise InvalidArgument(
                f"tokens[{place}].sha256: it is that of tokens[{earlier}], of another member; a "
                "token for each member is accepted"
            )
    return tokens


def _token(given: Any, where: str) -> StaticToken:
    fields = _mapping(given, where, ("sha256", "member"), ("expires",))
    digest = _text(fields["sha256"], f"{where}.sha256").lower()
    if not _SHA256.fullmatch(digest):
        # Not shown: by mistake it may be the token itself.
        raise InvalidArgument(
            f"{where}.sha256: it is not a SHA-256; the 64 hexadecimal digits of the token's are "
            "accepted, as sha256sum prints them"
        )
    expires = fields.get("expires")
    return StaticToken(
        digest,
        _matching(_CALLER, fields["member"], f"{where}.member", _A_CALLER),
        None if expires is None else read_time(expires, f"{where}.expires"),
    )


def _issuer(given: Any, where: str) -> Issuer:
    fields = _mapping(given, where, ("issuer", "audience", "keys"), ("member",))
    texts = {name: _text(value, f"{where}.{name}") for name, value in fields.items()}
    if "://" in texts["keys"]:
        raise Unimplemented(
            f"{where}.keys: {texts['keys']!r}: keys are not fetched; the name of a file that holds "
            "the issuer's JWKS is accepted"
        )
    issuer = Issuer(**texts)
    example = re.sub(r"\{[A-Za-z_]\w*\}", "ann@example.com", issuer.member)
    if example == issuer.member or not _CALLER.fullmatch(example):
        raise InvalidArgument(
            f"{where}.member: {issuer.member!r}; a member with a claim in braces is accepted, as "
            "in user:{email}"
        )
    return issuer


def _binding(
    given: Any,
    where: str,
    roles: Mapping[str, frozenset[str]],
    groups: Mapping[str, frozenset[str]],
) -> Binding:
    if isinstance(given, Mapping) and "condition" in given:
        raise Unimplemented(
            f"{where}.condition: conditions are not evaluated; a binding without one is accepted"
        )
    fields = _mapping(given, where, ("role", "members"))
    role = check_role(roles, _text(fields["role"], f"{where}.role"), f"{where}.role")
    members = []
    for each in _list(fields["members"], f"{where}.members"):
        member = _matching(_MEMBER, each, f"{where}.members", _A_MEMBER)
        if member.startswith("group:") and member not in groups:
            raise InvalidArgument(
                f"{where}.members: {member!r} is not defined; a group that groups defines is "
                "accepted"
            )
        members.append(member)
    return Binding(role, tuple(members))


def _permissions(given: Any, where: str) -> frozenset[str]:
    named = [_text(each, where) for each in _list(given, where)]
    for each in named:
        if each not in KNOWN:
            raise InvalidArgument(
                f"{where}: {each!r} is not a permission; {', '.join(sorted(KNOWN))} are accepted"
            )
    return frozenset(named)


def _holder(resource: Any) -> str:
    """Return a name that can have bindings."""
    name = _text(resource, "bindings")
    if name == EVERYTHING:
        return name
    account = _SERVICE_ACCOUNT.fullmatch(name)
    if account is not None:
        check_project(account[1])
        return name
    if name.count("/") == 1 and name.startswith("projects/"):
        return f"projects/{check_project(name.partition('/')[2])}"
    return str(resource_name(name, "bindings"))


def _mapping(
    given: Any, where: str, needed: Sequence[str] = (), optional: Sequence[str] | None = None
) -> Mapping[str, Any]:
    """Return a mapping that has the needed keys, and no unknown ones."""
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"{where}: {type(given).__name__}; a mapping is accepted")
    accepted = {*needed, *(optional or ())}
    missing = [name for name in needed if name not in given]
    unknown = [name for name in given if name not in accepted]
    if missing or (accepted and unknown):
        wrong = f"{missing[0]} is missing" if missing else f"unknown name {unknown[0]!r}"
        raise InvalidArgument(f"{where}: {wrong}; {', '.join(sorted(accepted))} are accepted")
    return given


def _list(given: Any, where: str) -> Sequence[Any]:
    if not isinstance(given, list):
        raise InvalidArgument(f"{where}: {type(given).__name__}; a list is accepted")
    return given


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise InvalidArgument(
            f"{where}: {given!r}; text is accepted, quoted where YAML would read another type"
        )
    return given


def _matching(pattern: re.Pattern[str], given: Any, where: str, accepted: str) -> str:
    text = _text(given, where)
    if not pattern.fullmatch(text):
        raise InvalidArgument(f"{where}: {text!r}; {accepted} is accepted")
    return text
