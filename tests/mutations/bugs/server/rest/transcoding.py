"""Seeded bugs of ``server/rest/transcoding.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_rest_transcoding.py",
    "tests/unit/test_rest_answers.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "body-wins-over-path",
        "A request is about the resource that its body names, and not its path.",
        "        setattr(inside, last, value)\n",
        "        setattr(inside, last, getattr(inside, last) or value)\n",
    ),
    Bug(
        "mask-in-the-query-ignored",
        "Fields in the query are ignored where there is a body, as Terraform's updateMask.",
        "if fields:",
        "if fields and not body:",
    ),
    Bug(
        "enums-always-by-name",
        "Enums are names, also for clients that ask for numbers.",
        "message, use_integers_for_enums=enums_as_numbers",
        "message, use_integers_for_enums=False",
    ),
)
