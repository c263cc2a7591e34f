"""Seeded bugs of ``tables/messages/stored.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_stored_positions.py",
    "tests/unit/test_given_back.py",
    "tests/unit/test_metrics_of_a_store.py",
    "tests/lanes/test_starts_of_streams.py",
    "tests/lanes/test_reads_on_disk.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_retention_job.py",
    "tests/unit/test_find.py",
    "tests/unit/test_races.py",
    "tests/unit/test_survey.py",
    "tests/unit/test_missing_statistics.py",
)

BUGS = (
    Bug(
        "unknown-log-drops-messages",
        "Messages whose commits the log does not tell any more are never delivered.",
        "        if new.is_complete:\n            adding",
        "        if True:\n            adding",
    ),
    Bug(
        "a-look-for-each-publish",
        "Who is a day behind waits for a request for each of its publishes.",
        "told else self._stored(group)",
        "told else (next(self._stored([each])) for each in group)",
    ),
    Bug(
        "days-without-statistics-are-empty",
        "A topic whose files have no statistics is shown as one without messages.",
        "                unknown.add(each.publish_date)\n",
        "                unknown.discard(each.publish_date)\n",
    ),
    Bug(
        "counts-what-is-about-to-go",
        "A seek to a deleted snapshot succeeds though retention is deleting its messages.",
        "Window(positions, self.history.discards_before(), None)",
        "Window(positions, None, None)",
    ),
    Bug(
        "one-too-many-to-delete",
        "A run of retention counts the messages of its bound, too, which it does not delete.",
        "return self._counted(Window(None, None, time - _MICROSECOND))[0]",
        "return self._counted(Window(None, None, time))[0]",
    ),
    Bug(
        "a-message-at-the-bound-is-older",
        "What was published when its subscription was created is shown as from before.",
        "self._fold(Window(positions, None, time - _MICROSECOND)) if positions else positions",
        "self._fold(Window(positions, None, time)) if positions else positions",
    ),
    Bug(
        "days-of-several-files",
        "The chart of a topic counts only the last file of each day.",
        "counted.get(each.publish_date, 0) + each.rows",
        "each.rows",
    ),
    Bug(
        "files-without-statistics-are-apart",
        "Messages of a file without statistics are not found.",
        "    if file.position_min is None or file.position_max is None:\n"
        "        return True\n"
        "    return file.position_min <= last",
        "    if file.position_min is None or file.position_max is None:\n"
        "        return False\n"
        "    return file.position_min <= last",
    ),
    Bug(
        "files-of-other-positions-are-opened",
        "New messages are read if the file of others has a gap.",
        "return file.position_min <= last and file.position_max >= first",
        "return file.position_min <= last or file.position_max >= first",
    ),
    Bug(
        "a-publish-has-messages-of-the-next-one",
        "A publish of a DataFrame has the first messages of the next publish, too.",
        "max(each.end_position for each in publishes) - 1,",
        "max(each.end_position for each in publishes) + 1,",
    ),
    Bug(
        "retained-from-the-next-moment",
        "A message of the very moment from which a topic retains is not counted as retained.",
        "self._counted(Window(None, since, None))",
        "self._counted(Window(None, since and since + _MICROSECOND, None))",
    ),
    Bug(
        "unknown-rows-are-none",
        "A file whose rows the log does not count has no messages on its day.",
        "                unknown.add(each.publish_date)",
        "                counted.setdefault(each.publish_date, 0)",
    ),
    Bug(
        "nothing-is-left-to-give-back",
        "A subscription hangs when a server gives back what a nack elsewhere has let return.",
        """\
        if not of or not among:
            return Positions()
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.followers(""",
        """\
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.followers(""",
    ),
    Bug(
        "nothing-holds-up-a-key",
        "A question for the messages of the keys of nothing is an unexpected failure.",
        """\
        if not of or not among:
            return Positions()
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.of_same_keys(""",
        """\
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.of_same_keys(""",
    ),
    Bug(
        "stream-of-files-that-vacuum-removed",
        "A stream from a time on ends, as it reads files that OPTIMIZE has replaced long ago.",
        "each.version == first and now - kept < each.time for",
        "each.version == first for",
    ),
    Bug(
        "absorbed-at-the-end-of-a-time",
        "A seek takes in what was published at its very time, where the log is cut.",
        "None if before is None else before - _MICROSECOND)\n        return found",
        "before)\n        return found",
    ),
)
