"""Push tokens: what push requests carry to tell who sent them, and how receivers verify it.

A token is a JWT as OpenID Connect has it. The public keys and the document that names them are
served at the server's own port, to everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from joserfc import jwt

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.resources import PushConfig
from pubsub_delta.server.push_keys import ALGORITHM, PushKeys

LIFETIME = timedelta(hours=1)
"""How long a token is valid (Google: up to an hour)."""
USED = timedelta(minutes=30)
"""How long one token is used for further requests."""
KEYS_PATH = "/.well-known/jwks.json"
DISCOVERY_PATH = "/.well-known/openid-configuration"
_MOST_TOKENS = 10_000
"""Kept for further requests."""


@dataclass(frozen=True)
class _Signed:
    at: datetime
    token: str


class PushTokens:
    """Signs tokens, and tells how they are verified.

    ``token`` and ``document`` may wait for the disk.

    Args:
        keys: what signs.
        issuer: the URL that tokens name as their issuer, without a slash at its end.
        now: what tells the time.
    """

    def __init__(self, keys: PushKeys, issuer: str, now: Callable[[], datetime]) -> None:
        self._keys = keys
        self.issuer = issuer
        self._now = now
        self._signed: dict[tuple[str, str], _Signed] = {}

    def token(self, config: PushConfig) -> str:
        """Return the token for a push; FailedPrecondition where there is no key to sign with."""
        said = config.oidc_token
        assert said is not None
        about = said.service_account_email, said.audience or config.push_endpoint
        now = self._now()
        token = self._sign(*about, now)
        if len(self._signed) >= _MOST_TOKENS:
            self._signed.clear()
        self._signed[about] = _Signed(now, token)
        return token

    def known(self, config: PushConfig) -> str | None:
        """Return a token that was signed of late for the same, or None."""
        said = config.oidc_token
        assert said is not None
        about = said.service_account_email, said.audience or config.push_endpoint
        last = self._signed.get(about)
        fresh = last is not None and timedelta(0) <= self._now() - last.at < USED
        return last.token if fresh and last is not None else None

    def document(self, path: str) -> Mapping[str, Any] | None:
        """Return what is served at a path to those who verify; None for any other path."""
        if path == KEYS_PATH:
            return {"keys": self._keys.public()}
        if path == DISCOVERY_PATH:
            return {
                "issuer": self.issuer,
                "jwks_uri": f"{self.issuer}{KEYS_PATH}",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": [ALGORITHM],
                "claims_supported": list(_claims("", "", "", datetime.min, datetime.min)),
            }
        return None

    def _sign(self, email: str, audience: str, now: datetime) -> str:
        signs = self._keys.signing()
        claims = _claims(self.issuer, email, audience, now, now + LIFETIME)
        header = {"alg": ALGORITHM, "kid": signs.kid, "typ": "JWT"}
        times = {name: int(claims[name].timestamp()) for name in ("iat", "exp")}
        return jwt.encode(header, {**claims, **times}, signs.key, algorithms=[ALGORITHM])


def checked_issuer(url: str | None) -> str | None:
    """Return the URL of an issuer without a slash at its end; InvalidArgument if it is none.

    >>> checked_issuer("https://pubsub.example.com/")
    'https://pubsub.example.com'
    """
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidArgument(
            f"push-issuer: {url!r} is no URL of a server; an http:// or https:// URL is accepted"
        )
    return url.rstrip("/")


def _claims(
    issuer: str, email: str, audience: str, issued: datetime, expires: datetime
) -> dict[str, Any]:
    """Return the claims that Google's tokens of push requests have."""
    return {
        "iss": issuer,
        "aud": audience,
        "azp": email,
        "sub": email,
        "email": email,
        "email_verified": True,
        "iat": issued,
        "exp": expires,
    }
