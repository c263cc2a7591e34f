"""Seeded bugs of ``methods/schemas.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_calls.py",
    "tests/lanes/test_far_clocks.py",
)

BUGS = (
    Bug(
        "any-clock-deletes-a-schema",
        "By a clock of the year 1 a schema is deleted, and its topics take nothing any more.",
        "    self._clock.check()\n    schemas.delete_schema(",
        "    schemas.delete_schema(",
    ),
    Bug(
        "type-without-a-definition",
        "A type beside a schema is ignored, where either of the two is accepted.",
        "given = type is not None or definition is not None",
        "given = type is not None and definition is not None",
    ),
    Bug(
        "newest-revision-anyway",
        "A message is held against the newest revision, whichever is named.",
        "revision_name(schema, self._project)\n    given = type",
        'revision_name(schema.split("@")[0], self._project)\n    given = type',
    ),
)
