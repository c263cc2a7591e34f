"""Seeded bugs of ``jobs/create_views.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_arguments.py",)

BUGS = (
    Bug(
        "refused-views-are-no-failure",
        "jobs/create_views.py ends with 0 though it could not create a view.",
        "return REFUSED_SOME if report.refused else 0",
        "return REFUSED_SOME if not report.views else 0",
    ),
    Bug(
        "views-for-this-session-alone",
        "jobs/create_views.py creates views that end with the job.",
        "temporary=False if schema is None else None",
        "temporary=None",
    ),
)
