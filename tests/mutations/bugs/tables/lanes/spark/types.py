"""Seeded bugs of ``tables/lanes/spark/types.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_fuzz_sql.py",)

BUGS = (
    Bug(
        "reserved-words-as-columns",
        "By the Spark lane a session that reserves words makes no table with a column `filter`.",
        '    return f"`{column}`"',
        "    return column",
    ),
    Bug(
        "maps-of-spark-keep-their-types",
        "Rows from Spark keep large texts and local times where they are in a map.",
        "return pa.map_(_normal(type_.key_type), _normal(type_.item_type))",
        "return type_",
    ),
)
