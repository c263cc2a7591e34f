"""Seeded bugs of ``jobs/maintenance_options.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_maintain.py",)

BUGS = (
    Bug(
        "no-duty-is-accepted",
        "--duties without a duty does nothing, and says nothing.",
        "if unknown or not duties:",
        "if unknown:",
    ),
)
