"""Seeded bugs of ``datasource/partition_reader.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_data_source_reads.py",
    "tests/lanes/test_data_source_filters.py",
)

BUGS = (
    Bug(
        "lost-message-untold",
        "A message that was leased and is not there any more is left out without a word.",
        "if part.ack_prefix is not None and count < leased:",
        "if False:",
        needs_spark=("tests/delta/test_data_source.py::test_a_message_that_is_gone_is_told",),
    ),
    Bug(
        "backlog-with-deleted-fails",
        "A read of a backlog fails if retention has deleted a message since.",
        "part.ack_prefix is not None and count < leased",
        "count < leased",
    ),
    Bug(
        "key-column-not-read",
        "A filter of ordering keys fails when the key is not selected.",
        '        names.append("ordering_key")\n',
        "        pass\n",
    ),
    Bug(
        "no-key-is-not-the-empty-one",
        "A pushed condition on the empty key misses messages without a key.",
        'found = pc.fill_null(rows.column("ordering_key"), "")',
        'found = rows.column("ordering_key")',
    ),
)
