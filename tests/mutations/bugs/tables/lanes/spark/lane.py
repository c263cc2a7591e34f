"""Seeded bugs of ``tables/lanes/spark/lane.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ()

BUGS = (
    Bug(
        "emptied-commit-by-spark",
        "An emptied commit is taken for one without changes, where Spark tells of it.",
        '            if row["operation"] is None:',
        '            if row["version"] is None:',
        needs_spark=("tests/spark_lane/test_tables.py",),
    ),
    Bug(
        "landed-before-is-landed-now",
        "What Delta has skipped is told as written, as an earlier commit carries the same text.",
        "each.user_metadata == user_metadata for each in commits if each.version > before",
        "each.user_metadata == user_metadata for each in commits",
        needs_spark=("tests/spark_lane/test_tables.py",),
    ),
    Bug(
        "registry-from-the-cache",
        "A session that has cached the registry publishes to a topic that was deleted since.",
        "rows = stored(self.spark, table)",
        "rows = self.spark.table(table)",
        needs_spark=(
            "tests/delta/test_two_lanes.py"
            "::test_what_a_session_has_cached_of_the_store_hides_nothing_of_what_others_do",
        ),
    ),
    Bug(
        "table-dropped-under-a-reader",
        "A seek to a snapshot that is deleted meanwhile tells damage in a catalog.",
        "            if self.exists(table):\n                raise\n",
        "            if table:\n                raise\n",
        needs_spark=(
            "tests/spark_lane/test_tables.py::"
            "test_a_table_that_is_dropped_while_it_is_read_is_missing_and_not_damaged",
        ),
    ),
    Bug(
        "frame-of-another-session",
        "A DataFrame of a session with a transaction is told as published, and skipped by Delta.",
        "        check_writing(frame.sparkSession)\n",
        "",
        needs_spark=(
            "tests/delta/test_publish.py::"
            "test_a_session_that_writes_something_else_is_refused_by_its_setting",
        ),
    ),
    Bug(
        "writes-are-shuffled",
        "A DataFrame is shuffled when it is written, where the session optimizes writes.",
        '"optimizeWrite": "false"',
        '"optimizeWrite": "true"',
        needs_spark=(
            "tests/delta/test_publish_frames.py::test_a_dataframe_is_published_in_one_pass_without_a_shuffle",
        ),
    ),
    Bug(
        "a-source-that-is-gone-is-the-topic",
        "A DataFrame whose own table is gone is told as a topic that is gone.",
        "with translating_errors(table, of_others=of_others):",
        "with translating_errors(table):",
        needs_spark=(
            "tests/spark_lane/test_frames.py::test_what_is_wrong_with_the_callers_own_data_is_not_ours",
        ),
    ),
)
