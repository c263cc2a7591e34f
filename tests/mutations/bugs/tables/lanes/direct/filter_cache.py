"""Seeded bugs of ``tables/lanes/direct/filter_cache.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_scans.py",
    "tests/lanes/test_scans_of_files.py",
)

BUGS = (
    Bug(
        "filters-share-their-files",
        "What passes one filter of a file is taken for what passes another.",
        "            self._cached[table_id, path, filter_] = size, passing\n",
        "            for key in (*self._cached, (table_id, path, filter_)):\n"
        "                self._cached[key] = size, passing\n",
    ),
    Bug(
        "filter-results-counted-twice",
        "What a filter cache holds anew counts twice.",
        "self._bytes += size - (0 if before is None else before[0])",
        "self._bytes += size",
    ),
)
