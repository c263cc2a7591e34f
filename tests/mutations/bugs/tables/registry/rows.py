"""Seeded bugs of ``tables/registry/rows.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_registry.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_registry_rows.py",
)

BUGS = (
    Bug(
        "the-last-revision-is-not-stored",
        "The registry does not store the last revision of a topic's schema settings.",
        'for bound in ("first_revision_id", "last_revision_id"):',
        'for bound in ("first_revision_id",):',
    ),
    Bug(
        "a-token-loses-its-audience",
        "The registry stores the service account of a push, and not the audience of its token.",
        'row["push_audience"] = token and token.audience',
        'row["push_audience"] = token and ""',
    ),
    Bug(
        "no-backoff-is-no-policy",
        "A retry policy without any backoff is read back as none.",
        '    if row["minimum_backoff_micros"] is not None:',
        '    if row["minimum_backoff_micros"]:',
    ),
)
