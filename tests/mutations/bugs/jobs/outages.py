"""Seeded bugs of ``jobs/outages.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_outputs.py",
    "tests/unit/test_job_exit_codes.py",
)

BUGS = (
    Bug(
        "full-disk-beside-the-text",
        "A full disk is told only where Spark's text has the cause in it.",
        '        error = getattr(error, "_cause", None) or error.__cause__',
        "        error = error.__cause__",
    ),
)
