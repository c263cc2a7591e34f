"""Seeded bugs of ``console/job_pages.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_mistakes.py",
    "tests/unit/test_console_jobs.py",
)

BUGS = (
    Bug(
        "gone-job-is-there",
        "A job that is gone is no 404.",
        "        return error_page(request, _UNKNOWN_JOB, 404)\n    job.wait",
        "        return error_page(request, _UNKNOWN_JOB, 200)\n    job.wait",
    ),
)
