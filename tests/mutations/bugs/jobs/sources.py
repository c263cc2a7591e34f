"""Seeded bugs of ``jobs/sources.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_sources.py",)

BUGS = (
    Bug(
        "braces-are-patterns",
        "A file with braces in its name cannot be read for the line of a bad record.",
        'r"([\\\\\\[\\]{}*?])"',
        'r"([\\\\\\[\\]*?])"',
    ),
    Bug(
        "damaged-files-are-passed-over",
        "jobs/publish.py leaves out damaged files by a setting of the session, without a word.",
        "    check_session(spark)\n",
        "",
    ),
    Bug(
        "folders-are-passed-over",
        "jobs/publish.py leaves out the files of folders that are no partitions, without a word.",
        "deep = bool(files) and files != _files(spark, path, deep=False)",
        "deep = False",
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
)
