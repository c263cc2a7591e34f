"""Seeded bugs of ``delivery/schemas.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_changed_at_that_moment.py",
    "tests/unit/test_schema_publishing.py",
    "tests/unit/test_schema_calls.py",
)

BUGS = (
    Bug(
        "stored-bound-must-live",
        "A topic's range cannot be changed once the revision of its other bound is deleted.",
        "    check_range(schema.revisions, named, stored if same else None)",
        "    check_range(schema.revisions, named, None)",
    ),
    Bug(
        "own-attributes-lost",
        "A message of a topic with a schema loses its own attributes.",
        "[*(own.as_py() or ()), *added[revision_id]]",
        "[*added[revision_id]]",
    ),
    Bug(
        "oldest-revision-read",
        "Fields are read by the oldest revision of a range.",
        "schema.type, revisions[0], tuple(living",
        "schema.type, revisions[-1], tuple(living",
    ),
    Bug(
        "cleared-schema-refuses-every-message",
        "A publish fails as its topic has just lost its schema.",
        "    if settings is None:\n        return None\n    if schema is None:",
        "    if schema is None or settings is None:",
    ),
)
