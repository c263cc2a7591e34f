"""Seeded bugs of ``jobs/leases.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_consume.py",)

BUGS = (
    Bug(
        "slow-job-loses-its-lease",
        "A batch that takes longer than its lease is written again and again.",
        "ack_deadline_seconds / 3",
        "ack_deadline_seconds * 3",
    ),
    Bug(
        "one-failed-extension-is-the-last",
        "A job extends the lease of its batch no more after one failure.",
        '                _log.exception("the lease of a batch could not be extended")\n',
        '                _log.exception("the lease of a batch could not be '
        'extended")\n'
        "                return\n",
    ),
)
