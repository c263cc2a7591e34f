"""Seeded bugs of ``operations/history.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_topic_history.py",
    "tests/lanes/test_reads_on_disk.py",
)

BUGS = (
    Bug(
        "application-with-a-colon",
        "The idempotency id of an application with a colon in its name is told wrongly.",
        'publish_id.rpartition(":")',
        'publish_id.partition(":")',
    ),
    Bug(
        "history-of-direct-deletions",
        "The history tells no number of messages that retention has deleted.",
        ', "num_deleted_rows")',
        ")",
    ),
)
