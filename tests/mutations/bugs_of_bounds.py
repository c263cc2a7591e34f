"""Bugs of numbers, bounds and orders of writes, and of arguments of another kind."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_BOUNDS = (
    Bug(
        "publish-time-of-a-push-in-milliseconds",
        "A pushed message of a whole tenth of a millisecond says that it is older.",
        "server/push_requests.py",
        "if time.microsecond % 1000 else",
        "if time.microsecond % 100 else",
    ),
    Bug(
        "last-position-of-a-part-left-out",
        "Of every 1,024 plain bitmaps the last message is left out.",
        "policy/positions.py",
        "(chosen[-1] + 1) * size])",
        "(chosen[-1] + 1) * size - 1])",
    ),
    Bug(
        "absent-dead-letter-topic-for-a-moment",
        "A dead-letter topic that is absent is written, and taken back again.",
        "operations/administer.py",
        '    _check_dead_letter_topic(tables, policy)\n    if "table_config" in changes:',
        '    if "table_config" in changes:',
    ),
    Bug(
        "retention-looks-at-one-snapshot",
        "Retention deletes what the second snapshot of a topic holds.",
        "delivery/discard.py",
        "        for each in captured:\n            if each ==",
        "        for each in captured[:1]:\n            if each ==",
    ),
    Bug(
        "last-noted-seek-decides",
        "A first seek that reaches back further is not read for.",
        "policy/replay.py",
        "    return min(versions)\n",
        "    return versions[-1]\n",
    ),
    Bug(
        "push-window-doubles-beyond-64",
        "The push window doubles once more at 64 requests.",
        "policy/push_window.py",
        "1 if self.size < SLOW_START_ENDS else 1 / self.size",
        "1 if self.size <= SLOW_START_ENDS else 1 / self.size",
    ),
    Bug(
        "last-try-of-an-update-overwrites",
        "The last try of an update writes over what somebody else has changed.",
        "server/partial_updates.py",
        "    return await write(stored, stored)",
        "    return await write(stored, None)",
    ),
    Bug(
        "dry-run-of-dead-letters-under-way",
        "A dry run does not count dead letters that are under way.",
        "operations/maintain.py",
        "waiting = redelivery.exhausted(state, subscription) + state.in_state(State.FORWARDING)",
        "waiting = redelivery.exhausted(state, subscription)",
    ),
    Bug(
        "given-back-letters-are-counted",
        "Dead letters that nobody can get count as forwarded.",
        "delivery/dead_letters.py",
        "            if tables.is_received(target):\n                count += messages\n",
        "            count += messages\n            if tables.is_received(target):\n"
        "                pass\n",
    ),
    Bug(
        "numbers-of-parts-given-again",
        "The next decision has the number of the second part of the last one.",
        "policy/redelivery.py",
        "next_lease_id=number + len(parts or [leaving]))",
        "next_lease_id=number + 1)",
    ),
    Bug(
        "last-run-of-a-span-one-short",
        "The chart of an ack state leaves out the newest message of a span.",
        "delivery/surveys.py",
        "runs[-1] = (runs[-1][0], positions.max)",
        "runs[-1] = (runs[-1][0], positions.max - 1)",
    ),
    Bug(
        "prefix-of-any-case",
        "The direct lane takes prefixes in any case.",
        "tables/lanes/direct/filters.py",
        "pattern=value))",
        "pattern=value, ignore_case=True))",
    ),
    Bug(
        "search-of-what-is-no-name",
        "A search by a number ends in an error of no documented class.",
        "operations/find.py",
        'if isinstance(name, str) and name.count("/") == 3 else',
        'if name.count("/") == 3 else',
    ),
    Bug(
        "search-by-what-is-no-query",
        "A search for a text in place of a query ends in an error of no documented class.",
        "operations/find.py",
        "if not isinstance(query, MessageQuery):",
        "if query is None:",
    ),
    Bug(
        "query-of-any-pair",
        "A search for an attribute without a value ends in an error of Arrow.",
        "policy/message_queries.py",
        "if not isinstance(given, tuple) or len(given) != 2:",
        "if not isinstance(given, tuple):",
    ),
    Bug(
        "latest-rounded-up",
        "A search until a time finds what was published a microsecond later.",
        "policy/message_queries.py",
        '("latest", True)',
        '("latest", False)',
    ),
    Bug(
        "exporter-fails-later",
        "An exporter of what is no name begins, and never measures.",
        "methods/metrics.py",
        "measuring.listed(names)",
        "names",
    ),
    Bug(
        "history-of-no-points",
        "A history of None points ends in an error of no documented class.",
        "operations/survey.py",
        '_check_count("points", most)',
        "pass",
    ),
    Bug(
        "fields-of-what-is-no-mapping",
        "The fields of a message without attributes end in an error of no documented class.",
        "operations/schemas.py",
        "if not isinstance(attributes, Mapping):",
        "if attributes == 0:",
    ),
)
