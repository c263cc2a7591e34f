"""Seeded bugs of ``console/middleware.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_security.py",
    "tests/unit/test_console_sessions.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "signed-out-by-a-link",
        "Who follows a link on another site to the console is signed out of it.",
        "HttpOnly; SameSite=Lax",
        "HttpOnly; SameSite=Strict",
    ),
)
