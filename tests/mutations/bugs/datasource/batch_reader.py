"""Seeded bugs of ``datasource/batch_reader.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_data_source_filters.py",)

BUGS = (
    Bug(
        "ids-of-either-filter",
        "A query for messages with one id and another finds both.",
        "self.ids = ids if self.ids is None else self.ids & ids",
        "self.ids = ids if self.ids is None else self.ids | ids",
    ),
    Bug(
        "pushed-times-widened",
        "A read with two lower bounds of the publish time uses the earlier one.",
        "self.earliest, self.latest = max(starts, default=None)",
        "self.earliest, self.latest = min(starts, default=None)",
    ),
    Bug(
        "a-null-among-keys-is-taken-over",
        "The data source takes over a comparison with several keys of which one is NULL.",
        "return values if all(isinstance(each, str) for each in values) else None",
        "return values if any(isinstance(each, str) for each in values) else None",
    ),
    Bug(
        "a-time-in-any-column-is-a-publish-time",
        "The data source takes a comparison of another column with a time for one of publish time.",
        'if path[0] == "publish_time" and isinstance(value, datetime):',
        "if isinstance(value, datetime):",
    ),
    Bug(
        "only-who-pushes-filters-reads-a-topic",
        "The data source reads no topic unless it may take over filters.",
        "        self._columns = columns\n        self._filters = PushedFilters()\n",
        "        self._columns = columns\n"
        "        if options.pushes_filters:\n"
        "            self._filters = PushedFilters()\n",
    ),
    Bug(
        "later-than-is-from",
        "A pushed filter publish_time > t returns messages that were published at t.",
        "self._between(time + _MICROSECOND, None)",
        "self._between(time, None)",
    ),
    Bug(
        "ids-with-zeros",
        "A pushed filter finds message 17 under the id 017.",
        " for text, number in named if str(number) == text",
        " for _, number in named",
    ),
)
