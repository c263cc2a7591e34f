"""Authentication: finds the caller that a bearer token belongs to, by the policy file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from hmac import compare_digest
from pathlib import Path
from typing import Any

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.policy.access import AccessPolicy, Caller, Issuer
from pubsub_delta.server.status import Unauthenticated

try:
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet
except ModuleNotFoundError as missing:
    raise FailedPrecondition(
        f"the module {missing.name} is not installed; pip install 'pubsub-delta[server]' "
        "installs it"
    ) from missing

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Algorithms with a private and a public key. With a shared key, a verifier could sign."""
_MAX_TOKEN_LENGTH = 8_192
_LEEWAY = 10
"""Seconds by which the clock of an issuer may be wrong."""
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_CLAIM = re.compile(r"\{([A-Za-z_]\w*)\}")
_NAME = re.compile(r"[^\s{}]{1,500}")


class Authenticator:
    """Finds the caller that a bearer token belongs to.

    Args:
        policy: the policy file, with hashes of static tokens and the issuers of JWTs.
        keys: the public keys of issuers, by the files that hold them.
    """

    def __init__(self, policy: AccessPolicy, keys: Mapping[str, KeySet]) -> None:
        self._policy = policy
        self._keys = keys

    def authenticate(self, authorization: str | bytes, now: datetime) -> Caller:
        """Return the caller that sent an ``authorization``; Unauthenticated if it is not valid."""
        if isinstance(authorization, bytes):
            authorization = authorization.decode("ascii", "replace")
        given = _BEARER.fullmatch(authorization)
        if given is None or len(given[1]) > _MAX_TOKEN_LENGTH:
            raise _invalid()
        member = self._member_of_static(given[1], now) or self._member_of_jwt(given[1], now)
        if member is None:
            raise _invalid()
        return self._policy.caller(member)

    def _member_of_static(self, token: str, now: datetime) -> str | None:
        """Return the member that a static token belongs to; all are compared, in constant time."""
        digest = hashlib.sha256(token.encode()).hexdigest()
        member = None
        for each in self._policy.tokens:
            is_valid = each.expires is None or now < each.expires
            if compare_digest(each.sha256, digest) and is_valid:
                member = each.member
        return member

    def _member_of_jwt(self, token: str, now: datetime) -> str | None:
        if token.count(".") != 2:
            return None
        for issuer in self._policy.issuers:
            claims = self._verified(token, issuer, now)
            member = None if claims is None else _member(issuer, claims)
            if member is not None:
                return member
        return None

    def _verified(self, token: str, issuer: Issuer, now: datetime) -> Mapping[str, Any] | None:
        """Return the claims of a token that an issuer signed for this server, or None."""
        try:
            read = jwt.decode(token, self._keys[issuer.keys], algorithms=_ALGORITHMS)
            jwt.JWTClaimsRegistry(
                now=int(now.timestamp()),
                leeway=_LEEWAY,
                iss={"essential": True, "value": issuer.issuer},
                aud={"essential": True, "value": issuer.audience},
                exp={"essential": True},
            ).validate(read.claims)
        except Exception:  # a token is any bytes from outside
            return None
        return read.claims


def _member(issuer: Issuer, claims: Mapping[str, Any]) -> str | None:
    """Return the member that some claims name; None if they name none."""
    member = issuer.member
    for name in _CLAIM.findall(member):
        value = claims.get(name)
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            return None
        if name == "email" and claims.get("email_verified", True) is not True:
            return None
        member = member.replace(f"{{{name}}}", value)
    return member


def _invalid() -> Unauthenticated:
    return Unauthenticated(
        "authorization: the bearer token is missing or not valid; send the metadata "
        "'authorization: Bearer <token>' with a token that the server's policy file knows"
    )


def read_keys(file: Path, where: str) -> KeySet:
    """Return the public keys of an issuer's JWKS; InvalidArgument naming the setting."""
    try:
        found: KeySet = KeySet.import_key_set(json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, JoseError) as error:
        raise InvalidArgument(
            f"{where}: {str(file)!r} is not a JWKS ({type(error).__name__}: {error}); save the "
            "document at the issuer's jwks_uri in this file"
        ) from None
    if not found.keys or any(key.key_type == "oct" for key in found.keys):
        raise InvalidArgument(
            f"{where}: {str(file)!r} has no keys, or a shared (oct) key; public keys are accepted"
        )
    return found
