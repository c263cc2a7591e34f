"""Seeded bugs of ``tables/lanes/direct/tables.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_swaps.py",
    "tests/unit/test_appends.py",
    "tests/unit/test_looks.py",
    "tests/lanes/test_ack_states.py",
    "tests/lanes/test_added_columns.py",
    "tests/lanes/test_direct.py",
    "tests/lanes/test_races_found.py",
    "tests/lanes/test_by_urls.py",
    "tests/lanes/test_upkeep.py",
    "tests/lanes/test_data_source_files.py",
)

BUGS = (
    Bug(
        "dropped-table-stays-open",
        "A process keeps what it holds of tables that it has dropped, some hundred of them.",
        "            self.open_tables.forget(table)\n            try:\n                opened =",
        "            try:\n                opened =",
    ),
    Bug(
        "swap-of-nothing-believed",
        "A swap that changed no row is taken for one that landed.",
        "return self.merge(table, rows, merge) == 1",
        "return self.merge(table, rows, merge) >= 0",
    ),
    Bug(
        "table-that-was-created-is-an-error",
        "A topic cannot be created while the storage loses the answers to the creation of tables.",
        "except (Conflict, Unavailable, *FAILURES):",
        "except Conflict:",
    ),
    Bug(
        "a-later-version-is-written-over",
        "A state is written over whatever is stored, if the table was opened anew meanwhile.",
        "if opened.version() != version:",
        "if opened.version() < version:",
    ),
    Bug(
        "a-deletion-is-not-counted",
        "A row that was not there is told to be deleted.",
        'return int(counts["num_deleted_rows"] or 0)',
        'return counts["num_deleted_rows"] is not None',
    ),
    Bug(
        "publish-without-upkeep-is-told-as-failed",
        "A publish after which no files can be joined is told as failed, though it has landed.",
        "with suppress(PubSubError, *FAILURES):",
        "with suppress(*FAILURES):",
    ),
    Bug(
        "a-freed-name-stays-taken",
        "In object storage a name that another process has freed is refused as taken.",
        "            if not changed:\n                with self.open_tables.newest",
        "            if changed is None:\n                with self.open_tables.newest",
    ),
    Bug(
        "deletes-what-it-did-not-see",
        "Retention deletes what a slow publisher has committed since its last look.",
        "return nullcontext(self.open_tables.opened(table, version))",
        "return nullcontext(self.open_tables.opened(table))",
    ),
    Bug(
        "deletion-that-met-itself",
        "A DELETE whose answer was lost is told as one that did not land.",
        "if c.user_metadata == user_metadata), None)\n            if landed is None:",
        "if c.user_metadata == user_metadata), None)\n            if True:",
    ),
    Bug(
        "column-of-others-stops-publishing",
        "Nobody can publish to a topic whose table another program gave a column.",
        "with_columns_of(opened, rows),",
        "rows,",
    ),
    Bug(
        "cleaned-commits-miscounted",
        "Cleaning a log tells how many commits there were, and not how many went.",
        "return before - len(self.open_tables.opened(table).history())",
        "return before",
    ),
    Bug(
        "rows-counted-by-file",
        "A publish of files by tasks counts its files as its messages.",
        'metrics = {"num_added_rows": sum(file.rows for file in files)}',
        'metrics = {"num_added_rows": len(files)}',
    ),
)
