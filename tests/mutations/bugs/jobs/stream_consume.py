"""Seeded bugs of ``jobs/stream_consume.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_progress.py",
    "tests/unit/test_job_arguments.py",
)

BUGS = (
    Bug(
        "messages-counted-from-the-start",
        "A consuming stream counts all messages of the query again with each micro-batch.",
        "        self._before = processed\n",
        "",
    ),
    Bug(
        "acks-of-others-counted",
        "A consuming stream tells what other consumers have acknowledged as written by it.",
        'metrics["processed_message_count"]',
        'metrics["ack_message_count_success"]',
    ),
    Bug(
        "a-report-without-metrics",
        "jobs/stream_consume.py ends where the metrics of its subscription cannot be read.",
        "        if processed is None:\n            return 0\n",
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
