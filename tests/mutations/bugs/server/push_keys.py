"""Seeded bugs of ``server/push_keys.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_push_keys.py",
    "tests/unit/test_push_tokens.py",
)

BUGS = (
    Bug(
        "keys-readable-by-all",
        "Everybody may read the keys that sign tokens.",
        "os.O_EXCL, 0o600)",
        "os.O_EXCL, 0o644)",
    ),
    Bug(
        "keys-of-each-server",
        "A server goes on with the keys that it has read first.",
        "if stamp is not None and stamp != self._last_stamp:",
        "if stamp is not None and self._last_stamp is None:",
    ),
    Bug(
        "private-keys-published",
        "The private parts of the keys are served to everybody.",
        '{**each.key.as_dict(private=False), "kid": each.kid}',
        '{**each.key.as_dict(private=True), "kid": each.kid}',
    ),
    Bug(
        "removed-keys-sign-on",
        "The keys of a file that was removed sign until the server ends.",
        "self._keys, self._last_stamp = (), None",
        "self._last_stamp = None",
    ),
    Bug(
        "a-key-of-another-server-is-overwritten",
        "Of two servers that make a push key at once, one signs tokens that nobody can verify.",
        "timeout=_LOCK_SECONDS):\n                self._reload_if_changed()\n",
        "timeout=_LOCK_SECONDS):\n",
    ),
    Bug(
        "keys-for-the-group",
        "The file of keys may be read by others.",
        "mode & 0o007",
        "mode & 0o003",
    ),
    Bug(
        "deep-push-keys",
        "A file of push keys that is nested too deeply is a traceback.",
        "TypeError, RecursionError, JoseError) as",
        "TypeError, JoseError) as",
    ),
    Bug(
        "keys-not-read-again",
        "Two servers that start at once each make a key, and one is lost.",
        "timeout=_LOCK_SECONDS):\n                self._reload_if_changed()\n",
        "timeout=_LOCK_SECONDS):\n",
    ),
    Bug(
        "public-key-signs",
        "A server starts with public keys, and pushes nothing.",
        "    if not key.is_private:",
        "    if key is None:",
    ),
)
