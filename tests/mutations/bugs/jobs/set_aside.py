"""Seeded bugs of ``jobs/set_aside.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_outputs.py",
    "tests/delta/test_set_aside.py",
)

BUGS = (
    Bug(
        "full-disk-of-bad-records",
        "A job whose bad records are on a full disk ends in a traceback.",
        '    with translating_outages("--bad-records", path):\n',
        "    if True:\n",
    ),
    Bug(
        "misfits-of-a-stream-are-not-set-aside",
        "jobs/stream_publish.py --bad-records leaves out what does not fit, and tells nobody.",
        "            add_to(bad_records, checked)\n",
        "",
        needs_spark=("tests/delta/test_set_aside.py",),
    ),
)
