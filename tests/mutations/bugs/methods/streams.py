"""Seeded bugs of ``methods/streams.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/protocol/test_outages.py",
    "tests/unit/test_publisher.py",
    "tests/unit/test_successors.py",
    "tests/unit/test_reading_leases.py",
    "tests/lanes/test_table_rows.py",
)

BUGS = (
    Bug(
        "publisher-ignores-its-total-timeout",
        "A publisher whose storage stays away never tells it.",
        "repeat_in_time(partial(commit, batch), most, warn)",
        "repeat_in_time(partial(commit, batch), 3600 * (most + most.resolution), warn)",
    ),
    Bug(
        "publisher-of-a-predecessor",
        "A publisher goes on with a deleted topic after its name was given to another one.",
        "    self._tables.topic(name)\n\n"
        "    def commit(batch: Sequence[Message]) -> Sequence[str]:\n"
        "        found, now = self._tables.topic(name), self._clock.now()\n",
        "    found = self._tables.topic(name)\n\n"
        "    def commit(batch: Sequence[Message]) -> Sequence[str]:\n"
        "        now = self._clock.now()\n",
    ),
    Bug(
        "callbacks-of-a-table-subscription",
        "A StreamingPull of a table subscription begins, and ends with its first look.",
        "    if found.table_config is not None:\n        raise cannot_pull(found)\n",
        "",
    ),
    Bug(
        "publisher-of-no-topic",
        "A publisher of a topic that does not exist begins, and fails message by message.",
        "    self._tables.topic(name)\n\n    def commit",
        "    def commit",
    ),
)
