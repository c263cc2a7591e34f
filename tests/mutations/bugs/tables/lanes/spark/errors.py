"""Seeded bugs of ``tables/lanes/spark/errors.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_spark_errors.py",)

BUGS = (
    Bug(
        "storage-that-is-away-is-an-error-of-spark",
        "A storage that is away for a moment ends consumers of the Spark lane.",
        "if table is not None and not of_others and away is not None:",
        "if False and away is not None:",
        needs_spark=("tests/spark_lane/test_storage_away.py",),
    ),
    Bug(
        "left-by-a-kill",
        "What a kill left of a new store in a catalog ends all programs in an error of Delta's.",
        "not of_others and condition in _OCCUPIED:",
        "of_others and condition in _OCCUPIED:",
        needs_spark=(
            "tests/spark_lane/test_tables.py::"
            "test_what_a_kill_left_where_a_table_is_to_be_created_is_told",
        ),
    ),
    Bug(
        "what-a-table-forbids-ends-in-sparks-error",
        "A table that another program has made append-only ends in an error of Spark's.",
        "        if table is not None and rule is not None:\n",
        "        if table is None and rule is not None:\n",
        needs_spark=(
            "tests/spark_lane/test_tables.py::test_what_a_table_is_made_to_forbid_is_refused_by_name",
        ),
    ),
    Bug(
        "stopped-session-is-a-bug-in-spark",
        "A store whose session was stopped tells of a bug in Spark.",
        "        if _STOPPED.search(str(error)):\n",
        "        if False:\n",
    ),
    Bug(
        "stopped-session-of-spark-connect",
        "A store whose session of Spark Connect was stopped ends in an error of pyspark.",
        r"""|\[NO_ACTIVE_SESSION\]|INVALID""",
        "|INVALID",
    ),
    Bug(
        "session-that-a-server-has-closed",
        "A store whose session was idle for an hour ends in an error of pyspark, by Spark Connect.",
        "SESSION_(?:CLOSED|CHANGED|NOT_FOUND)",
        "SESSION_(?:CHANGED|NOT_FOUND)",
    ),
    Bug(
        "server-that-was-started-again",
        "A store whose Spark Connect server was started again ends in an assertion of pyspark.",
        '    r"|incorrect server side session identifier"\n',
        "",
    ),
)
