"""Seeded bugs of ``jobs/outputs.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_outputs.py",
    "tests/delta/test_outputs.py",
)

BUGS = (
    Bug(
        "output-created-twice",
        "A job fails where another one has just created the table of its output.",
        "    return bool(_RACES.search(str(error)[:2000]))",
        "    return False",
    ),
    Bug(
        "file-in-the-place-of-an-output-is-unexpected",
        "A job whose output is a file ends with a traceback.",
        "        if refused is None:\n",
        "        if refused is not None:\n",
        needs_spark=(
            "tests/delta/test_outputs.py::"
            "test_where_a_file_is_no_table_is_made_and_that_is_told_by_name",
        ),
    ),
    Bug(
        "rows-skipped-and-acknowledged",
        "A job acknowledges rows that Delta skips for a transaction of its session.",
        'if "txnVersion" not in options:',
        'if "txnVersion" in options:',
    ),
    Bug(
        "full-disk-of-an-output",
        "A job whose output is on a full disk ends in a traceback, and is not to be tried again.",
        "        if why is None or isinstance(error, PubSubError):\n",
        "        if error:\n",
    ),
    Bug(
        "an-option-of-another-job",
        "jobs/export_metrics.py tells to give --merge-schema, which it does not have.",
        "may_merge = merge_schema is False",
        "may_merge = not merge_schema",
    ),
)
