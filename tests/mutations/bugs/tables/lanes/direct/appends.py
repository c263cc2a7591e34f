"""Seeded bugs of ``tables/lanes/direct/appends.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_appends.py",
    "tests/lanes/test_failing_disks.py",
)

BUGS = (
    Bug(
        "append-that-has-landed-is-an-error",
        "A publish whose answer was lost is told as failed, and its publisher sends it again.",
        "if landed is None:",
        "if landed is None or True:",
    ),
    Bug(
        "append-of-another-is-taken-for-the-own",
        "A publish that lost a race, or failed, is told as done.",
        "if each.user_metadata == user_metadata), None)",
        "if each.user_metadata), None)",
    ),
    Bug(
        "failed-checkpoint-of-a-local-publish",
        "A publish on a local disk whose checkpoint cannot be written is told as failed.",
        "landed = _version_of(tables, table, user_metadata, before)",
        'landed = "://" in table and _version_of(tables, table, user_metadata, before) or None',
    ),
)
