"""Seeded bugs of ``jobs/readers.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/delta/test_readers.py",)

BUGS = (
    Bug(
        "empty-texts-are-null",
        "An empty text in a CSV file is published as null.",
        '        options["nullValue"] = _NOTHING\n',
        '        options["emptyValue"] = _NOTHING\n',
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "folders-without-a-comma",
        "The JSON object of a line in a folder month=1 is no JSON.",
        'F.when(inner.rlike(r"\\S"), F.lit(",")).otherwise(F.lit(""))',
        'F.when(inner.rlike(r"^\\S"), F.lit(",")).otherwise(F.lit(""))',
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "names-in-utf-16-are-published",
        "jobs/publish.py publishes a CSV in UTF-16 with a NUL in each name and value.",
        '        if any("\\0" in name for name in names):\n',
        "        if not any(names):\n",
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "a-control-letter-is-null",
        "jobs/publish.py leaves out a text of CSV that is one control letter.",
        '_NOTHING = "\\u0001no text of an input: pubsub_delta\\u0001"\n',
        '_NOTHING = "\\u0001"\n',
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
)
