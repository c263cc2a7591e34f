"""Seeded bugs of ``console/auth.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_security.py",
    "tests/unit/test_console_sessions.py",
)

BUGS = (
    Bug(
        "a-sign-in-that-leads-nowhere",
        "Who signs in by a page from before a restart gets a page without a form.",
        "@redisplay_with(_sign_in_again)\n",
        "",
    ),
    Bug(
        "signed-in-is-asked-again",
        "A page asks for the token of a session that has it.",
        "    if request.state.session.signed_in:\n        return redirect()",
        "    if request.state.session is None:\n        return redirect()",
    ),
)
