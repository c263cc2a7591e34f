"""Seeded bugs of ``tables/lanes/direct/targets.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/lanes/test_table_locations.py",
    "tests/lanes/test_table_partitions.py",
    "tests/lanes/test_table_texts.py",
    "tests/lanes/test_table_outcomes.py",
    *TABLE_WRITES,
    "tests/lanes/test_cut_logs.py",
    "tests/lanes/test_table_ended.py",
)

BUGS = (
    Bug(
        "own-table-by-another-url",
        "A subscription writes rows into a topic, where the root is written in another way.",
        "if is_of_a_store(self.columns.names, ",
        "if is_of_a_store(self.columns.names[1:], ",
    ),
    Bug(
        "cancelled-write-taken-for-written",
        "A write that was cancelled passes for one that landed, and its messages are lost.",
        "last == _identity(metadata)",
        "last is not None",
    ),
    Bug(
        "write-repeated-after-a-crash",
        "Rows that have landed before a crash are written to the table a second time.",
        "if landed is None or landed < number:",
        "if landed is None or landed <= number:",
    ),
    Bug(
        "cancelled-is-written",
        "A write that was cancelled counts as written, and its messages are lost.",
        "commit_properties=_properties(Outcome.CANCELLED, key, write_id)",
        "commit_properties=_properties(Outcome.WRITTEN, key, write_id)",
    ),
    Bug(
        "a-write-of-others-passes-for-ours",
        "Messages pass for written to a table where another write has taken their number.",
        "(is_last and last == _identity(metadata))",
        "(is_last or last == _identity(metadata))",
    ),
    Bug(
        "columns-with-defaults-are-written",
        "A target table whose columns have defaults is accepted.",
        'delta\\.|CURRENT_DEFAULT"',
        'delta\\."',
    ),
    Bug(
        "features-of-a-target-are-not-looked-at",
        "A table subscription is given a table by whose features every commit fails.",
        "        found += sorted({*(self._table.protocol().writer_features or ())} - _WRITTEN)\n",
        "",
    ),
    Bug(
        "what-deltalake-does-not-write-is-raised",
        "An earlier table that deltalake does not write is waited for by every pull.",
        "        if isinstance(error, FailedPrecondition):\n            why",
        "        if isinstance(error, TableNotFoundError):\n            why",
    ),
    Bug(
        "lengths-within-arrays",
        "A VARCHAR(n) within an array is no reason to refuse a table.",
        'and each["type"] != "string":',
        'and each["type"] is None:',
    ),
    Bug(
        "binary-partitions",
        "A table that is partitioned by BINARY values gets other bytes than were published.",
        "for each in columns if each.type == pa.binary()",
        "for each in columns if each.type == pa.null()",
    ),
    Bug(
        "table-that-cannot-be-opened-is-to-be-created",
        "Of a table that this process cannot open it is told that it is not there, or a raw error.",
        "        if not reaches(path):\n",
        "        if False:\n",
    ),
)
