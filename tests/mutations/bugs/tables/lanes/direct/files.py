"""Seeded bugs of ``tables/lanes/direct/files.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_data_source_files.py",
    "tests/lanes/test_scans.py",
    "tests/lanes/test_tables_that_are_gone.py",
    "tests/lanes/test_by_urls.py",
)

BUGS = (
    Bug(
        "longer-file-is-there",
        "A file that is longer than its task wrote is taken for the same.",
        "        if found != file.size:",
        "        if found < file.size:",
    ),
    Bug(
        "milliseconds-of-a-file",
        "Files that tasks write are modified in the year 58000, by the log.",
        "modification_time=to_micros(self.publish_time) // 1000,",
        "modification_time=to_micros(self.publish_time),",
    ),
    Bug(
        "row-groups-stay-small",
        "After its first row group a file has one for each small part.",
        "            held, count = [], 0\n",
        "            held = []\n",
    ),
)
