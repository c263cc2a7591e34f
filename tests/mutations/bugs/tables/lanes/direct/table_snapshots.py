"""Seeded bugs of ``tables/lanes/direct/table_snapshots.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_damage.py",
    "tests/unit/test_looks.py",
    "tests/lanes/test_direct.py",
    "tests/lanes/test_reads_on_disk.py",
    "tests/lanes/test_scans_of_files.py",
    "tests/lanes/test_by_urls.py",
)

BUGS = (
    Bug(
        "a-large-registry-is-copied",
        "A table of any size is written anew for a change of one row.",
        "None not in counts and sum(counts) <= _MAX_FEW_ROWS",
        "None not in counts",
    ),
    Bug(
        "file-times-cut",
        "The last publish time of a file is taken as its statistics have it, cut to "
        "milliseconds: a search leaves out the file.",
        "publish_time_max=None if latest is None else latest + _MAXIMUM_ERROR,",
        "publish_time_max=latest,",
    ),
    Bug(
        "run-from-zero-alone",
        "Only a topic's first file tells its positions by the log; all others are read.",
        "self.rows == last - first + 1",
        "self.rows == last + 1",
    ),
    Bug(
        "bucket-without-keys",
        "Files in a bucket are read without the keys that the store was opened with.",
        "self._options = dict(options) if options else None",
        "self._options = None",
    ),
    Bug(
        "encoded-paths",
        "A file of a table with a blank in its path is not found.",
        'path=unquote(action["path"])',
        'path=action["path"]',
    ),
    Bug(
        "deletion-vectors-are-not-noticed",
        "Rows that are deleted by a vector are delivered.",
        "        if protocol.min_reader_version > 1:",
        "        if protocol.min_reader_version > 3:",
    ),
    Bug(
        "row-group-without-statistics-has-no-positions",
        "Messages of a file without statistics are passed over.",
        "    return 0, 2**63 - 1\n",
        "    return 0, 0\n",
    ),
)
