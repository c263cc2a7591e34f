"""Seeded bugs of ``datasource/writing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_data_source_files.py",)

BUGS = (
    Bug(
        "run-again-and-refused",
        "A micro-batch of the data source that has landed is refused once the schema has changed.",
        "        if has_landed(tables.messages(reserved.topic_uid), transaction):\n",
        "        if not reserved.topic_uid:\n",
    ),
    Bug(
        "written-again-and-refused",
        "A DataFrame that the data source has written is refused again once the schema is gone.",
        "    again = topic.schema_settings is not None and has_landed(messages, transaction)\n",
        "    again = False\n",
    ),
    Bug(
        "files-of-another-machine",
        "A publish names files that no reader finds, and its topic cannot be read any more.",
        "if missing is not None:",
        "if False:",
    ),
    Bug(
        "reservation-used-twice",
        "Two publishes have the same positions, where Spark lets a writer write twice.",
        "if messages.history.has_allocated(reserved.first_position):",
        "if False:",
        needs_spark=("tests/lanes/test_data_source_files.py",),
    ),
    Bug(
        "partitions-on-top-of-each-other",
        "All tasks of a write give out the same positions.",
        "first = reserved.first_position + partition * ROWS",
        "first = reserved.first_position",
        needs_spark=("tests/lanes/test_data_source_files.py",),
    ),
    Bug(
        "batch-of-a-lower-version-is-lost",
        "A batch that Delta skips, as its version is lower than the last, is told as published.",
        "not commit(tables, reserved, files, transaction) and transaction is not None:",
        "not commit(tables, reserved, files, transaction) and transaction is None:",
        needs_spark=(
            "tests/lanes/test_data_source_files.py::test_a_batch_below_the_last_version_is_refused",
        ),
    ),
    Bug(
        "older-checkpoint-writes-nothing",
        "The same by format('pubsub_delta').",
        "check_is_last(messages, reserved.topic_name, *transaction)",
        "pass",
    ),
    Bug(
        "one-partition-too-many",
        "The last partition of a DataFrame has the positions of the next publish.",
        "if partition >= PARTITIONS:",
        "if partition > PARTITIONS:",
    ),
    Bug(
        "position-after-the-last",
        "The range of a written file ends one position too late.",
        "first + stamped.count - 1",
        "first + stamped.count",
    ),
)
