"""Seeded bugs of ``tables/lanes/direct/commits.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_swaps.py",
    "tests/unit/test_appends.py",
    "tests/lanes/test_added_columns.py",
    "tests/lanes/test_upkeep.py",
    "tests/lanes/test_data_source_files.py",
)

BUGS = (
    Bug(
        "append-is-made-behind-its-own-commit",
        "A publish whose answer was lost is two commits, and what was acknowledged comes again.",
        "max_commit_retries=0 if only_next else None",
        "max_commit_retries=None",
    ),
    Bug(
        "a-swap-is-tried-past-others",
        "A state that was read before somebody else's commit is committed after it.",
        "_ONLY_NEXT = CommitProperties(max_commit_retries=0)",
        "_ONLY_NEXT = CommitProperties()",
    ),
    Bug(
        "column-of-others-stops-leasing",
        "Nobody can pull from a subscription whose ack state another program gave a column.",
        "written = completed(rows, pa.schema(opened.schema().to_arrow()))",
        "written = rows.select(pa.schema(opened.schema().to_arrow()).names)",
    ),
    Bug(
        "column-that-is-gone-is-left-out",
        "A publish to a table without the columns of messages succeeds without them.",
        "if lacking:",
        "if not columns.names:",
    ),
    Bug(
        "cleanup-after-each-commit",
        "Each commit to an ack state asks for the status of every file of its log.",
        "NO_CLEANUP = PostCommitHookProperties(cleanup_expired_logs=False)\n",
        "NO_CLEANUP = PostCommitHookProperties()\n",
    ),
    Bug(
        "a-lower-version-lands",
        "An append under a lower version than the last of its application lands.",
        "landed >= transaction[1]",
        "landed == transaction[1]",
    ),
)
