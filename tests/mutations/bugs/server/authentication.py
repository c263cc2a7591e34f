"""Seeded bugs of ``server/authentication.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_access_files.py",)

BUGS = (
    Bug(
        "expired-token-taken",
        "A token is accepted for ever, whenever it expires.",
        "compare_digest(each.sha256, digest) and is_valid:",
        "compare_digest(each.sha256, digest):",
    ),
    Bug(
        "jwt-for-somebody-else-taken",
        "A JWT that was made for another audience is accepted.",
        'aud={"essential": True, "value": issuer.audience},',
        "",
    ),
    Bug(
        "unverified-email-taken",
        "A JWT names its member by an address that the issuer has not verified.",
        'if name == "email" and claims.get("email_verified", True) is not True:',
        'if name == "":',
    ),
    Bug(
        "one-file-of-keys-for-an-issuer",
        "Where an issuer stands twice in the policy file, tokens by the first keys are refused.",
        "self._keys[issuer.keys]",
        "[*self._keys.values()][-1]",
    ),
    Bug(
        "the-first-entry-of-an-issuer-alone",
        "A token that one entry of an issuer names nobody by is refused though another names one.",
        "            if member is not None:\n                return member\n        return None",
        "            if claims is not None:\n                return member\n        return None",
    ),
    Bug(
        "token-of-8192-characters",
        "A token with as many characters as are looked at is refused.",
        "if given is None or len(given[1]) > _MAX_TOKEN_LENGTH:",
        "if given is None or len(given[1]) >= _MAX_TOKEN_LENGTH:",
    ),
    Bug(
        "token-at-its-last-instant",
        "A static token is still accepted at the instant from which it is not valid.",
        "is_valid = each.expires is None or now < each.expires",
        "is_valid = each.expires is None or now <= each.expires",
    ),
    Bug(
        "tokens-without-an-end",
        "A JWT without an end is valid for ever.",
        '                exp={"essential": True},\n',
        "",
    ),
    Bug(
        "unverified-email-as-text",
        "A token whose email_verified is the text false names its email.",
        'claims.get("email_verified", True) is not True',
        'claims.get("email_verified", True) is False',
    ),
    Bug(
        "jwks-with-one-shared-key",
        "A JWKS with a shared key is accepted if it has a public one, too.",
        'any(key.key_type == "oct" for key in found.keys)',
        'all(key.key_type == "oct" for key in found.keys)',
    ),
    Bug(
        "keys-without-keys",
        "A file that is no JWKS is a traceback.",
        "except (OSError, ValueError, KeyError, TypeError, RecursionError, JoseError) as",
        "except (OSError, ValueError, TypeError, RecursionError, JoseError) as",
    ),
    Bug(
        "deep-keys",
        "A JWKS that is nested too deeply is a traceback.",
        "TypeError, RecursionError, JoseError) as",
        "TypeError, JoseError) as",
    ),
)
