"""Seeded bugs of ``tables/lanes/choice.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_lanes_choice.py",
    "tests/unit/test_tables_in_memory.py",
)

BUGS = (
    Bug(
        "direct-lane-beside-dynamodb",
        "A session whose commits go through DynamoDB takes the direct lane, which asks it nothing.",
        'return "spark", BY_DYNAMODB',
        'return "direct", BY_DYNAMODB',
    ),
    Bug(
        "schema-for-a-root-without-a-word",
        "Who forgets the slash of a directory is told that Spark is missing, and not why.",
        "                    raise self._not_started(error) from error",
        "                    raise error",
    ),
    Bug(
        "store-of-a-later-catalog",
        "A store that starts its session is another one in each catalog that this takes later.",
        "                self._start(started)\n",
        "                self._started = started\n",
    ),
    Bug(
        "few-messages-are-read-by-spark",
        "Few messages are read by Spark, and many by this process.",
        "many = count >= MANY_MESSAGES and self.has_spark",
        "many = count < MANY_MESSAGES or self.has_spark",
    ),
    Bug(
        "scans-of-another-table",
        "What a session finds at the path of a topic is taken for it: messages that a copy lacks "
        "do not pass a filter.",
        "by_spark = many and self._is_found_by_spark(table)",
        "by_spark = many",
    ),
    Bug(
        "copy-on-the-session-s-file-system",
        "A DataFrame is published to a copy of the store, which has the ids of its tables.",
        "on_disk(self._layout.base) is None or self.bulk.is_on_disk(table)",
        "True",
    ),
    Bug(
        "session-that-reads-no-path",
        "To a session that reads no table by its path a store is an empty one.",
        '        if (setting_of(self.spark, _PATHS, "true") or "").strip().lower() == "false":\n',
        "        if False:\n",
    ),
)
