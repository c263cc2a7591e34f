"""Seeded bugs of ``policy/push_configs.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_push_configs.py",)

BUGS = (
    Bug(
        "push-with-a-password",
        "The URL of an endpoint may have a user name and a password.",
        'if "@" in parts.netloc:',
        'if "@@" in parts.netloc:',
    ),
    Bug(
        "address-of-254-characters",
        "A service account with the longest address is refused.",
        "if not is_address or len(email) > _LONGEST_EMAIL:",
        "if not is_address or len(email) >= _LONGEST_EMAIL:",
    ),
    Bug(
        "audience-of-2048-characters",
        "An audience with as many characters as an error accepts is refused.",
        "if not isinstance(audience, str) or len(audience) > _LONGEST_AUDIENCE:",
        "if not isinstance(audience, str) or len(audience) >= _LONGEST_AUDIENCE:",
    ),
    Bug(
        "at-sign-in-a-path",
        "A push endpoint with @ in its path is refused.",
        'if "@" in parts.netloc:',
        'if "@" in url:',
    ),
    Bug(
        "audience-with-line-breaks",
        "An audience with control characters is accepted.",
        "    if not audience.isprintable():",
        "    if not audience.strip() == audience:",
    ),
)
