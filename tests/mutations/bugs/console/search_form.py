"""Seeded bugs of ``console/search_form.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_searches.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "empty-value-is-any",
        "A search for an attribute with an empty value finds it with any value.",
        "value if equals else None",
        "value or None",
    ),
    Bug(
        "blanks-are-not-looked-for",
        "A search for an ordering key with a blank finds the messages of another key.",
        "given[name] if name in _EXACT else given.text(name)",
        "given.text(name)",
    ),
    Bug(
        "second-ends-as-it-begins",
        "A search until a second leaves out what its pages show as published in it.",
        "    return time.replace(microsecond=999_999)\n",
        "    return time\n",
    ),
)
