"""Seeded bugs of ``tables/lanes/spark/stored.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/delta/test_pull.py",)

BUGS = (
    Bug(
        "topic-from-the-cache",
        "A session that has cached a topic's table reads batches without newer messages.",
        "return newest(spark, table) if is_cached(rows) else rows",
        "return rows",
        needs_spark=(
            "tests/delta/test_pull.py::test_what_a_session_has_cached_of_a_topic_hides_no_message",
        ),
    ),
)
