"""Seeded bugs of ``jobs/maintain.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_maintain.py",
    "tests/unit/test_job_arguments.py",
    "tests/lanes/test_jobs.py",
)

BUGS = (
    Bug(
        "failed-duty-is-success",
        "The maintenance job ends with 0 though a duty failed.",
        "return FAILED if report.problems else 0",
        "return 0",
    ),
    Bug(
        "maintain-writes-elsewhere",
        "The job maintain writes tables below the root in spite of --tables-root.",
        "PubSub(session, root, project=project, tables_root=tables_root)",
        "PubSub(session, root, project=project)",
    ),
    Bug(
        "maintain-job-ignores-exact",
        "The job maintain --exact deletes only whole days.",
        "log_retention=log_retention, exact=exact, dry_run=dry_run",
        "log_retention=log_retention, dry_run=dry_run",
    ),
    Bug(
        "topics-for-messages",
        "The total of maintain counts topics as messages that retention deleted.",
        'sum(report.discarded.values()), "message", "deleted"',
        'len(report.discarded), "message", "deleted"',
    ),
    Bug(
        "every-duty-is-named",
        "The job names duties that it did not carry out.",
        "        print_report(report, names)",
        "        print_report(report, duties)",
    ),
    Bug(
        "log-retention-is-not-handed-on",
        "jobs/maintain.py keeps the commits that --log-retention would remove.",
        "log_retention=log_retention, ",
        "",
    ),
)
