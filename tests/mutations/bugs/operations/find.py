"""Seeded bugs of ``operations/find.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_search_parts.py",
    "tests/unit/test_find.py",
    "tests/unit/test_wrong_arguments.py",
    "tests/lanes/test_reads_on_disk.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_live_messages.py",
    "tests/unit/test_console_dead_letters.py",
    "tests/unit/test_missing_statistics.py",
    "tests/unit/test_cleaned_logs.py",
)

BUGS = (
    Bug(
        "search-of-what-is-no-name",
        "A search by a number ends in an error of no documented class.",
        'if isinstance(name, str) and name.count("/") == 3 else',
        'if name.count("/") == 3 else',
    ),
    Bug(
        "search-by-what-is-no-query",
        "A search for a text in place of a query ends in an error of no documented class.",
        "if not isinstance(query, MessageQuery):",
        "if query is None:",
    ),
    Bug(
        "search-goes-on",
        "A search that was stopped goes on.",
        "            if is_stopped():\n                return\n",
        "",
    ),
    Bug(
        "search-of-overlaps",
        "A search misses the last position of each part.",
        "yield max(self.low, end - self.size + 1), end",
        "yield max(self.low, end - self.size + 2), end",
    ),
    Bug(
        "live-list-repeats",
        "A list of messages asks for those that came since, and gets all that match again.",
        "        if self._query.after_version is not None:\n",
        "        if False:\n",
    ),
    Bug(
        "new-messages-of-any-state",
        "A search for new messages in some states finds new ones in all states.",
        "held = added if held is None else held & added",
        "held = added",
    ),
    Bug(
        "find-file-within",
        "A search misses messages of a large file within whose positions a smaller one "
        "begins later.",
        "            max(self.high, other.high),\n",
        "            other.high,\n",
    ),
    Bug(
        "parts-by-empty-positions",
        "A search of files that OPTIMIZE has joined takes reads of empty positions.",
        "        if not self._is_sparse:\n",
        "        if self.low <= self.high:\n",
    ),
    Bug(
        "positions-of-all-files",
        "A search of joined files reads the positions of the whole topic for its first result.",
        "window = Window(Positions.between(self.low, self.high))",
        "window = Window(Positions.between(0, self.high))",
    ),
    Bug(
        "publish-of-its-first-message",
        "The first message of a publish does not tell its publish id.",
        "c.first_position <= position < c.end_position",
        "c.first_position < position < c.end_position",
    ),
    Bug(
        "sparse-search-ends-early",
        "A search through positions far apart leaves out the last messages, if they are few.",
        "    while stored:\n        part = stored.first(size)",
        "    while len(stored) >= size:\n        part = stored.first(size)",
    ),
    Bug(
        "parts-of-large-messages",
        "A search reads as many messages of 10 MB at a time as of 100 bytes.",
        "size, rows = min(PART, max(_LEAST, _PART_BYTES // mean)), file.rows or 0",
        "size, rows = min(PART, max(_LEAST, _PART_BYTES)), file.rows or 0",
    ),
    Bug(
        "a-search-until-a-time-skips-files",
        "A search up to a time leaves out files that begin before it.",
        "_is_before(query.latest, file.publish_time_min)",
        "_is_before(file.publish_time_min, query.latest)",
    ),
    Bug(
        "sparse-files-from-the-oldest",
        "A search in sparse positions finds the oldest messages first.",
        "        stored -= part\n    return found[::-1]",
        "        stored -= part\n    return found",
    ),
    Bug(
        "nothing-is-found-without-statistics",
        "A search of a topic finds nothing if the log has no statistics of a file.",
        "            if positions is not None and not positions:\n",
        "            if not positions:\n",
    ),
    Bug(
        "a-file-without-times-is-not-searched",
        "A search between times leaves out files whose times the log does not have.",
        "return time is not None and other is not None and time < other",
        "return time is None or other is None or time < other",
    ),
    Bug(
        "found-attempt-is-always-told",
        "A search shows delivery attempts without a dead-letter policy.",
        "span.delivery_attempt if self._is_counted else None",
        "span.delivery_attempt",
    ),
    Bug(
        "search-after-a-cleaned-log",
        "A search after a version that the log has forgotten finds less, without an error.",
        "        if not new.is_complete:\n"
        "            raise InvalidArgument(\n"
        '                f"after_version: {version}; the',
        "        if new.is_complete is None:\n"
        "            raise InvalidArgument(\n"
        '                f"after_version: {version}; the',
    ),
    Bug(
        "searched-one-file-too-few",
        "A search by time leaves out a file whose messages are all of its last moment.",
        "return time is not None and other is not None and time < other",
        "return time is not None and other is not None and time <= other",
    ),
    Bug(
        "search-that-is-done-at-once",
        "A search tells that it is done while it reads its first part.",
        "self.progress = min(number / total, 1.0)",
        "self.progress = max(number / total, 1.0)",
    ),
    Bug(
        "part-of-the-largest-size",
        "A part of overlapping files has as many positions as the file of the smallest messages.",
        "min(self.size, other.size)",
        "max(self.size, other.size)",
    ),
    Bug(
        "attempt-that-nobody-counts",
        "A search tells a delivery attempt without a dead-letter policy, and none with one.",
        "span.delivery_attempt if self._is_counted else None",
        "None if self._is_counted else span.delivery_attempt",
    ),
    Bug(
        "publish-of-the-position-before",
        "A message that was published next to others has the id of their publish.",
        "c.first_position <= position < c.end_position",
        "c.first_position <= position <= c.end_position",
    ),
)
