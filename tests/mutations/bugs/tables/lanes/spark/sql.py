"""Seeded bugs of ``tables/lanes/spark/sql.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_fuzz_sql.py",)

BUGS = (
    Bug(
        "features-of-the-sessions-defaults",
        "Tables get the features of Delta's that a session gives its new tables.",
        'wanted = {**schema.properties, "delta.ignoreProtocolDefaults": "true"}',
        "wanted = schema.properties",
        needs_spark=(
            "tests/spark_lane/test_tables.py"
            "::test_tables_are_plain_delta_whatever_the_sessions_defaults",
        ),
    ),
)
