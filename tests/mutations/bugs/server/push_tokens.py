"""Seeded bugs of ``server/push_tokens.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_push_tokens.py",
    "tests/unit/test_suspended_processes.py",
    "tests/unit/test_push_keys.py",
    "tests/unit/test_server_values.py",
)

BUGS = (
    Bug(
        "token-for-another-endpoint",
        "A token that was signed for one endpoint is sent to others.",
        "last = self._signed.get(_about(config))",
        "last = next(iter(self._signed.values()), None)",
    ),
    Bug(
        "tokens-of-removed-keys",
        "Tokens are sent whose key was removed, so that no receiver can verify them.",
        "if each[1].kid in kids]",
        "if kids is not None]",
    ),
    Bug(
        "token-outlives-its-validity",
        "Push requests carry tokens that have expired.",
        "REUSED = timedelta(minutes=30)",
        "REUSED = timedelta(minutes=90)",
    ),
    Bug(
        "a-token-of-the-future-is-sent",
        "A push token that a clock ahead has signed is sent until that time has come.",
        "fresh = last is not None and timedelta(0) <= self._now() - last.at < REUSED",
        "fresh = last is not None and self._now() - last.at < REUSED",
    ),
    Bug(
        "audience-of-a-default",
        "The token of a push without an audience names no audience.",
        "said.audience or config.push_endpoint\n",
        'said.audience or ""\n',
    ),
    Bug(
        "token-of-a-removed-key",
        "Tokens of a key that was removed from the file are sent on.",
        "            self._signed = dict(kept)\n",
        "            dict(kept)\n",
    ),
    Bug(
        "issuer-of-no-port",
        "An issuer is accepted whose port is no number, so that nobody finds its keys.",
        "is_reachable = bool(parts.hostname) and parts.port != 0",
        "is_reachable = bool(parts.hostname)",
    ),
    Bug(
        "tokens-are-kept-for-ever",
        "A server keeps a token of every audience that it has ever pushed to.",
        "        if len(self._signed) >= _MAX_TOKENS:",
        "        if len(self._signed) > 2 * _MAX_TOKENS:",
    ),
    Bug(
        "a-token-of-its-issuer",
        "The subject of a push token is its issuer.",
        '"sub": email,',
        '"sub": issuer,',
    ),
)
