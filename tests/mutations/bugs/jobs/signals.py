"""Seeded bugs of ``jobs/signals.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_summaries.py",)

BUGS = (
    Bug(
        "a-handler-of-a-job-stays",
        "After a job the process of its platform ends by a signal as the job did.",
        "            signal.signal(each, signal.SIG_DFL)\n",
        "            pass\n",
    ),
)
