"""Seeded bugs of ``console/schemas.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_schemas.py",
    "tests/unit/test_console_columns.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_whole_answers.py",
)

BUGS = (
    Bug(
        "changes-the-wrong-way-round",
        "A revision of a schema shows what it has added as removed.",
        "for which in (before, each)",
        "for which in (each, before)",
    ),
    Bug(
        "the-first-revision-is-missing",
        "The list of revisions lacks the first one.",
        '            found.append(Revision(each, "", ()))\n            continue',
        "            continue",
    ),
)
