"""Seeded bugs of ``tables/lanes/spark/grouping.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ()

BUGS = (
    Bug(
        "group-columns-of-the-session",
        "A session that drops the columns of groups ends acks of a DataFrame in a KeyError.",
        "    return rows.agg(*named, *aggregates).drop(*others)\n",
        "    return frame.groupBy(*named).agg(*aggregates)\n",
        needs_spark=(
            "tests/delta/test_odd_settings.py"
            "::test_a_session_that_drops_the_columns_of_groups_answers_by_them",
        ),
    ),
)
