"""Seeded bugs of ``jobs/stream_consume.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_progress.py",
    "tests/unit/test_job_arguments.py",
)

BUGS = (
    Bug(
        "acks-counted-from-the-start",
        "A consuming stream counts all acks of the query again with each micro-batch.",
        "        self._before = acked\n",
        "        self._before = acked if self._before is None else self._before\n",
    ),
    Bug(
        "a-report-without-metrics",
        "jobs/stream_consume.py ends where the metrics of its subscription cannot be read.",
        "        if acked is None:\n            return 0\n",
        "",
    ),
    Bug(
        "micro-batches-without-numbers",
        "jobs/stream_consume.py writes a repeated micro-batch twice.",
        "merge_schema=merge_schema, **numbered)",
        "merge_schema=merge_schema)",
    ),
    Bug(
        "micro-batches-of-any-size",
        "jobs/stream_consume.py takes all messages at once, whatever --batch-size says.",
        "            max_messages=batch_size,\n",
        "",
    ),
)
