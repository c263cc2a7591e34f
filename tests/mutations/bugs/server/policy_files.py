"""Seeded bugs of ``server/policy_files.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_access_files.py",)

BUGS = (
    Bug(
        "names-twice-in-a-file",
        "Of two lists of bindings in a policy file the first is forgotten without a word.",
        "if twice:",
        "if len(twice) > 1:",
    ),
    Bug(
        "issuers-keys-never-read-again",
        "New keys of an issuer are not read before the policy file changes.",
        "self._files, self._last_signature = (self._path, *keys), (before, *map(_stamp, keys))",
        "self._files, self._last_signature = (self._path,), (before,)",
    ),
    Bug(
        "policy-file-as-large-as-allowed",
        "A policy file of exactly as many bytes as an error accepts is refused.",
        "if len(text) > _LARGEST:",
        "if len(text) >= _LARGEST:",
    ),
    Bug(
        "issuers-from-one",
        "An error of an issuer's keys names the issuer after it.",
        "enumerate(zip(policy.issuers, keys, strict=True))",
        "enumerate(zip(policy.issuers, keys, strict=True), 1)",
    ),
)
