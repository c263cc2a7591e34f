"""Seeded bugs of ``policy/signing_keys.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_push_tokens.py",)

BUGS = (
    Bug(
        "new-key-signs-before-it-is-known",
        "A key signs as soon as it is made, when receivers have not read it yet.",
        "if each <= now - AHEAD]",
        "if each <= now]",
    ),
    Bug(
        "old-key-taken-back-at-once",
        "A key is published no more while tokens are about that it has signed.",
        "if now < newer + AHEAD + KEPT:",
        "if now < newer + AHEAD:",
    ),
)
