"""Seeded bugs of ``tables/lanes/direct/scans.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_scans.py",
    "tests/lanes/test_reads_on_disk.py",
    "tests/lanes/test_scans_of_files.py",
    "tests/lanes/test_by_urls.py",
    "tests/lanes/test_direct.py",
)

BUGS = (
    Bug(
        "each-file-is-compared-with-all-others",
        "A topic of ten thousand files is counted for a minute.",
        "[f for f in files if f.path not in whole]",
        "[f for f in files if f not in [*whole.values()]]",
    ),
    Bug(
        "all-files-are-read-at-once",
        "Who is far behind needs memory for the numbers of all its messages.",
        "range(0, len(files), _AT_ONCE))",
        "range(0, len(files), len(files) or 1))",
    ),
    Bug(
        "kept-whatever-the-times",
        "Messages of a file that was read are found outside of the times that are asked for.",
        "        if passing is not None and passing.is_within(window):\n",
        "        if passing is not None:\n",
    ),
    Bug(
        "statistics-taken-at-their-word",
        "A count includes messages of the millisecond in which it ends.",
        "return starts and (window.latest is None or last + _CUT_OFF <= window.latest)",
        "return starts and (window.latest is None or last <= window.latest)",
    ),
    Bug(
        "slices-row-twice",
        "After VACUUM took a file in the middle of a read, the last message before it comes twice.",
        "low, high = max(start, after + 1),",
        "low, high = max(start, after),",
    ),
    Bug(
        "rows-without-position-are-counted",
        "Rows of another program without a position are counted as messages.",
        "if not whole or first is None or last is None:",
        "if first is None or last is None:",
    ),
    Bug(
        "a-null-keeps-repeated-keys",
        "Where one message has no attributes, keys that others repeat are not made distinct.",
        'if name == "data" and column.null_count:',
        'if name == "data" or column.null_count:',
    ),
    Bug(
        "the-first-message-is-passed-over",
        "The first message of a topic is not read if its file has no statistics.",
        "return 0 if first is None else first,",
        "return 1 if first is None else first,",
    ),
    Bug(
        "earliest-of-the-first-files",
        "The earliest message of some files is that of those which had to be read.",
        "earliest = min((each for each in (earliest, first) if each is not None), default=None)",
        "earliest = earliest or first",
    ),
    Bug(
        "files-without-positions",
        "A file without statistics has position 0 only.",
        "return 0 if first is None else first, _END if last is None else last",
        "return first or 0, last or 0",
    ),
)
