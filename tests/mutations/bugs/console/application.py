"""Seeded bugs of ``console/application.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_security.py",
    "tests/unit/test_console_sessions.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_whole_answers.py",
)

BUGS = (
    Bug(
        "values-in-a-page-without-a-form",
        "A page without a form says that what was typed is still in it.",
        "Load its page again, and send it from there.",
        "Your values are still in it.",
    ),
    Bug(
        "a-page-of-the-framework",
        "An address that is no page has the words of a framework.",
        "    app.add_exception_handler(404, _not_found)\n",
        "",
    ),
)
