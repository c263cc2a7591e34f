"""Seeded bugs of ``console/error_texts.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_unreadable_messages.py",
    "tests/unit/test_console_form_values.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "given-names-in-the-words-of-pages",
        "A label with the name of a field is shown by another name in its error.",
        "lambda found: _FIELDS[found[1]] if found[1] else found[0]",
        "lambda found: _FIELDS.get(found[0].strip('\"\\''), found[0])",
    ),
)
