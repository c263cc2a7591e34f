"""Seeded bugs of ``jobs/consume.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_consume.py",
    "tests/unit/test_job_summaries.py",
)

BUGS = (
    Bug(
        "lease-is-extended-after-its-end",
        "A draining job extends each lease by ten minutes, and a shorter one after its end.",
        "leases.extended(batch, batch.ack_deadline_seconds)",
        "leases.extended(batch, 600)",
    ),
    Bug(
        "query-is-read-after-the-lease",
        "A query that is no SQL ends a draining job with a traceback, and its messages are leased.",
        "        outputs.check_query(spark, query)\n",
        "",
        needs_spark=("tests/acceptance/test_jobs.py::test_a_refusal_is_one_line_and_exit_code_3",),
    ),
    Bug(
        "late-acks-of-a-job-are-not-told",
        "A job does not count messages that were acknowledged after their lease.",
        '                    totals.counts["acked too late"] += '
        "len(outcome.expired) + len(outcome.invalid)\n",
        "",
    ),
    Bug(
        "left-of-an-earlier-wait",
        "jobs/consume.py ends with exit code 4, though it got what others had held.",
        "waiting_since, left = None, 0",
        "waiting_since = None",
    ),
    Bug(
        "ids-in-the-output",
        "jobs/consume.py writes the delivery attempt into the table of its output.",
        'return batch.df.drop("ack_id", "delivery_attempt")',
        'return batch.df.drop("ack_id")',
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "written-and-not-told",
        "jobs/consume.py does not tell what it has written and could not acknowledge.",
        "                    totals.add(batch.message_count)\n"
        "                    outcome = batch.ack()\n",
        "                    outcome = batch.ack()\n"
        "                    totals.add(batch.message_count)\n",
    ),
    Bug(
        "a-topic-is-consumed",
        "jobs/consume.py ends in a KeyError where its subscription is the id of a topic.",
        "        name = store.get_subscription(subscription).name  "
        "# a topic may have the same id\n",
        "        name = subscription\n",
    ),
)
