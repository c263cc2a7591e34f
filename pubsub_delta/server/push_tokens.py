"""The OIDC tokens of push requests, and the documents by which receivers verify them.

A token is a JWT. The server serves the public keys, and the OpenID Connect discovery document that
names them, at its own port without authentication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from joserfc import jwt

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.resources import PushConfig
from pubsub_delta.server.push_keys import ALGORITHM, PushKeys

LIFETIME = timedelta(hours=1)
"""How long a token is valid (Google: up to an hour)."""
REUSED = timedelta(minutes=30)
"""How long a signed token is used again."""
KEYS_PATH = "/.well-known/jwks.json"
DISCOVERY_PATH = "/.well-known/openid-configuration"
_MAX_TOKENS = 10_000
"""The largest number of tokens that are kept."""


@dataclass(frozen=True)
class _Signed:
    at: datetime
    token: str
    kid: str


class PushTokens:
    """Signs tokens, and returns the documents to verify them.

    ``token``, ``refresh`` and ``document`` may wait for the disk.

    Args:
        keys: the signing keys.
        issuer: the URL of the issuer in tokens, without a slash at its end.
        now: returns the time.
    """

    def __init__(self, keys: PushKeys, issuer: str, now: Callable[[], datetime]) -> None:
        self._keys = keys
        self.issuer = issuer
        self._now = now
        self._signed: dict[tuple[str, str], _Signed] = {}

    def token(self, config: PushConfig) -> str:
        """Sign a token for a push; FailedPrecondition if there is no key."""
        about = _about(config)
        signed = self._sign(*about, self._now())
        if len(self._signed) >= _MAX_TOKENS:
            self._signed.clear()
        self._signed[about] = signed
        return signed.token

    def cached(self, config: PushConfig) -> str | None:
        """Return a recent token for the same account and audience, or None."""
        last = self._signed.get(_about(config))
        fresh = last is not None and timedelta(0) <= self._now() - last.at < REUSED
        return last.token if fresh and last is not None else None

    def refresh(self) -> None:
        """Drop the cached tokens of keys that are no longer in the file, if it can be read."""
        with suppress(FailedPrecondition):
            kids = self._keys.kids()
            kept = [each for each in list(self._signed.items()) if each[1].kid in kids]
            self._signed = dict(kept)

    def document(self, path: str) -> Mapping[str, Any] | None:
        """Return the JWKS or the discovery document for its path; None for any other path."""
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

    def _sign(self, email: str, audience: str, now: datetime) -> _Signed:
        signs = self._keys.signing()
        claims = _claims(self.issuer, email, audience, now, now + LIFETIME)
        header = {"alg": ALGORITHM, "kid": signs.kid, "typ": "JWT"}
        times = {name: int(claims[name].timestamp()) for name in ("iat", "exp")}
        token = jwt.encode(header, {**claims, **times}, signs.key, algorithms=[ALGORITHM])
        return _Signed(now, token, signs.kid)


def checked_issuer(url: str | None) -> str | None:
    """Return the URL of an issuer without a slash at its end; InvalidArgument if it is not one.

    >>> checked_issuer("https://pubsub.example.com/")
    'https://pubsub.example.com'
    """
    if url is None:
        return None
    if not _is_of_a_server(url):
        raise InvalidArgument(
            f"push-issuer: {url!r} is not a URL of a server; http:// and https:// are accepted"
        )
    return url.rstrip("/")


def _about(config: PushConfig) -> tuple[str, str]:
    """Return the account and the audience of the tokens of a push config."""
    said = config.oidc_token
    assert said is not None
    return said.service_account_email, said.audience or config.push_endpoint


def _is_of_a_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_reachable = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or half of an IPv6 address
        return False
    return parts.scheme in ("http", "https") and is_reachable and not set(url) & set("?#")


def _claims(
    issuer: str, email: str, audience: str, issued: datetime, expires: datetime
) -> dict[str, Any]:
    """Return the claims of Google's push tokens."""
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
