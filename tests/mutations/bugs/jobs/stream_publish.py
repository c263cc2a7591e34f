"""Seeded bugs of ``jobs/stream_publish.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_progress.py",)

BUGS = (
    Bug(
        "refused-job-leaves-a-query",
        "A streaming job whose topic does not exist sets bad records aside for ever.",
        "        query = store.publish_stream(\n",
        "        if bad_records is not None:\n"
        '            aside = found.bad.writeStream.format("json")\n'
        '            aside.option("checkpointLocation", f"{checkpoint}/aside").start(bad_records)\n'
        "        query = store.publish_stream(\n",
        needs_spark=(
            "tests/acceptance/test_jobs.py::test_a_job_that_is_refused_leaves_no_query_behind",
        ),
    ),
    Bug(
        "rows-of-the-input-are-messages",
        "jobs/stream_publish.py counts bad records as messages, and each row at each reading.",
        "return each.message_count or 0",
        'return int(progress["numInputRows"])',
    ),
)
