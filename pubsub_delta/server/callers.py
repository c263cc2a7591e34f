"""Callers: whose a bearer token is, by the tokens and the issuers of a policy file."""

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
"""Of signatures by a private key. With a shared one, whoever verifies could sign."""
_LONGEST = 8_192
"""Characters of a token."""
_LEEWAY = 10
"""Seconds by which the clock of an issuer may differ."""
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_CLAIM = re.compile(r"\{([A-Za-z_]\w*)\}")
_NAME = re.compile(r"[^\s{}]{1,500}")


class Callers:
    """Tells whose a token is.

    Args:
        policy: names the tokens by their hashes, and the issuers of JWTs.
        keys: the public keys of each issuer.
    """

    def __init__(self, policy: AccessPolicy, keys: Mapping[str, KeySet]) -> None:
        self._policy = policy
        self._keys = keys

    def of(self, authorization: str | bytes, now: datetime) -> Caller:
        """Return who sent an ``authorization`` at a time; Unauthenticated if it is nobody's."""
        if isinstance(authorization, bytes):
            authorization = authorization.decode("ascii", "replace")
        given = _BEARER.fullmatch(authorization)
        if given is None or len(given[1]) > _LONGEST:
            raise _invalid()
        member = self._member_of_static(given[1], now) or self._member_of_jwt(given[1], now)
        if member is None:
            raise _invalid()
        return self._policy.caller(member)

    def _member_of_static(self, token: str, now: datetime) -> str | None:
        """Return whose token that is. All are compared, each in constant time."""
        digest = hashlib.sha256(token.encode()).hexdigest()
        member = None
        for each in self._policy.tokens:
            lives = each.expires is None or now < each.expires
            if compare_digest(each.sha256, digest) and lives:
                member = each.member
        return member

    def _member_of_jwt(self, token: str, now: datetime) -> str | None:
        if token.count(".") != 2:
            return None
        for issuer in self._policy.issuers:
            claims = self._verified(token, issuer, now)
            if claims is not None:
                return _member(issuer, claims)
        return None

    def _verified(self, token: str, issuer: Issuer, now: datetime) -> Mapping[str, Any] | None:
        """Return the claims of a token that an issuer has signed for this server, or None."""
        try:
            read = jwt.decode(token, self._keys[issuer.issuer], algorithms=_ALGORITHMS)
            jwt.JWTClaimsRegistry(
                now=int(now.timestamp()),
                leeway=_LEEWAY,
                iss={"essential": True, "value": issuer.issuer},
                aud={"essential": True, "value": issuer.audience},
                exp={"essential": True},
            ).validate(read.claims)
        except Exception:  # whatever a stranger sends
            return None
        return read.claims


def _member(issuer: Issuer, claims: Mapping[str, Any]) -> str | None:
    """Return whose a token with some claims is; None where they do not tell."""
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
        "authorization: the bearer token is missing, or not valid here; metadata 'authorization: "
        "Bearer <token>' is accepted, with a token of the server's policy file"
    )


def read_keys(file: Path, where: str) -> KeySet:
    """Return the public keys of an issuer's JWKS; InvalidArgument naming the setting."""
    try:
        found: KeySet = KeySet.import_key_set(json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, JoseError) as error:
        raise InvalidArgument(
            f"{where}: {str(file)!r}: {type(error).__name__}: {error}; a file with a JWKS is "
            "accepted, as the issuer's jwks_uri answers it"
        ) from None
    if not found.keys or any(key.key_type == "oct" for key in found.keys):
        raise InvalidArgument(
            f"{where}: {str(file)!r}: it has no keys, or one that is shared; public keys are "
            "accepted"
        )
    return found
