"""Seeded bugs of ``tables/lanes/storage_errors.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_storage_failures.py",
    "tests/lanes/test_failing_disks.py",
)

BUGS = (
    Bug(
        "no-free-files-ends-consumers",
        "A process that may open no more files for a moment ends its consumers.",
        "    if why_now is not None:",
        "    if failing is None and why_now is not None:",
    ),
    Bug(
        "file-too-large-is-unexpected",
        "A file that is too large for its disk is an error of no documented class.",
        "|File too large",
        "",
    ),
    Bug(
        "connection-is-taken-for-a-disk",
        "A storage that cannot be reached is told as a disk that fails.",
        """    if "://" in text:
        return None  # of a connection to object storage
""",
        "",
    ),
    Bug(
        "a-file-of-a-caller-is-blamed-on-a-table",
        "A file that is no table's is told as damage of the table that was being read.",
        "    return table if path is None else None\n",
        "    return table\n",
    ),
    Bug(
        "path-that-leads-nowhere-is-no-error-of-ours",
        "A root with too long a name, or a link to itself, ends in an OSError.",
        "    if no_path is not None:",
        "    if no_path is not None and number is None:",
    ),
    Bug(
        "a-reader-is-asked-to-write",
        "Who may not read a store is told to get a permission to write it.",
        'what = "write" if _READ_ONLY.search(told) else "read or write"',
        'what = "write"',
    ),
)
