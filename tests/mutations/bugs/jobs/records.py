"""Seeded bugs of ``jobs/records.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/delta/test_readers.py",)

BUGS = (
    Bug(
        "bad-ones-are-good",
        "The good records are counted with the bad ones.",
        "RecordCounts(found[0] - found[1], found[1],",
        "RecordCounts(found[0], found[1],",
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "one-more-bad-record",
        "The number of further bad records is one too high.",
        'more = f" (and {count - 1:,} more)" if count > 1 else ""',
        'more = f" (and {count:,} more)" if count > 1 else ""',
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "names-are-no-utf-8",
        "jobs/publish.py publishes a CSV in UTF-16 with spoilt names.",
        "(found[-1] or _REPLACED in names)",
        "found[-1]",
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
)
