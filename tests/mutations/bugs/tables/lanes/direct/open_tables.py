"""Seeded bugs of ``tables/lanes/direct/open_tables.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_swaps.py",
    "tests/lanes/test_damage.py",
    "tests/unit/test_looks.py",
    "tests/lanes/test_reads_on_disk.py",
    "tests/lanes/test_direct.py",
    "tests/lanes/test_cut_logs.py",
    "tests/lanes/test_by_urls.py",
)

BUGS = (
    Bug(
        "a-handle-is-never-opened-again",
        "A table that one process writes for hours becomes slower with each commit.",
        "if self.table is None or self.table.version() - self.opened_at > most:",
        "if self.table is None:",
    ),
    Bug(
        "storage-that-is-away-keeps-no-versions",
        "A version that cannot be asked for at the moment is told as gone for good.",
        "raise away or FailedPrecondition(",
        "raise FailedPrecondition(",
    ),
    Bug(
        "each-look-asks-for-a-checkpoint",
        "A look at a table where nothing is new takes two requests.",
        "if self.was_behind or newest_version(opened) != before:",
        "if newest_version(opened) is not None:",
    ),
    Bug(
        "open-tables-old-keys",
        "Tables stay open with credentials that were replaced in the environment.",
        "                self._keys = keys\n                self._by_table.clear()\n",
        "                self._keys = keys\n",
    ),
    Bug(
        "directory-that-was-replaced",
        "A table whose directory was replaced is read as it was.",
        "        if opened is not None and directory_id == handle.directory_id:\n            try:",
        "        if opened is not None:\n            try:",
    ),
    Bug(
        "newest-table-is-closed",
        "Where many tables are open, the one that is about to be used is closed.",
        "self._by_table.popitem(last=False)",
        "self._by_table.popitem(last=True)",
    ),
    Bug(
        "looked-ahead-for-nothing",
        "A table that was looked at ahead is looked at once more, by one request more.",
        "is_newest = opened is not None and (prefetched or opened.version() == known_version)",
        "is_newest = opened is not None and opened.version() == known_version",
    ),
    Bug(
        "a-snapshot-of-a-table-that-is-gone-is-read",
        "Of a table that was replaced by one of the same version the earlier rows are read.",
        "        handle.table = handle.snapshot = None\n",
        "        handle.table = None\n",
    ),
    Bug(
        "cleaned-log-is-damaged",
        "A program that did nothing while the log of a topic was cleaned takes it for damaged.",
        "if found < new and (not found or _has_commit(table, handle.checked)):",
        "if found < new:",
    ),
    Bug(
        "its-own-commits-are-read-again",
        "A process reads each commit that it has made, to see that it is whole.",
        "            if opened.version() == handle.checked + 1:\n"
        "                handle.checked += 1  # a commit of this process, which has just "
        "written it\n",
        "",
    ),
    Bug(
        "commits-of-others-are-read-again",
        "A process reads the commits of others again at each look.",
        "            raise lost_commit(table, version)\n    handle.checked = version\n",
        "            raise lost_commit(table, version)\n",
    ),
)
