"""Seeded bugs of ``tables/registry/schemas.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_publishing.py",
    "tests/unit/test_schema_calls.py",
)

BUGS = (
    Bug(
        "deleted-schema-untold",
        "A topic does not tell that its schema was deleted.",
        "replace(settings, schema=DELETED_SCHEMA)",
        "replace(settings)",
    ),
)
