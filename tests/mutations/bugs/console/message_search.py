"""Seeded bugs of ``console/message_search.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_values.py",
    "tests/unit/test_console_live_messages.py",
    "tests/unit/test_console_searches.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_mistakes.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "an-empty-download-of-other-columns",
        "A Parquet download without messages has other columns than one with messages.",
        '"attributes": pa.map_(pa.string(), pa.string()),',
        '"attributes": pa.string(),',
    ),
    Bug(
        "live-search-cut",
        "A search for newer messages that was cut off by time goes on after the whole: "
        "what it did not reach is never shown.",
        "is_full = len(found) > room or search.progress < 1",
        "is_full = len(found) > room",
    ),
    Bug(
        "a-live-list-without-end",
        "The rows that were added to a list of messages make no room smaller.",
        "room = MOST_LIVE - listed - added",
        "room = MOST_LIVE - listed",
    ),
    Bug(
        "added-rows-forgotten",
        "A live list of messages grows without an end.",
        "listed, added + len(shown), is_full=is_full",
        "listed, len(shown), is_full=is_full",
    ),
    Bug(
        "page-after-the-first-message",
        "The next page of a search repeats the messages of this one.",
        "running.found[-1].message_id if running.found",
        "running.found[0].message_id if running.found",
    ),
    Bug(
        "stopped-search-is-live",
        "The list of a stopped search shows newer messages as if it were whole.",
        "if is_done and not running.was_stopped and not running.is_older:",
        "if is_done and not running.is_older:",
    ),
    Bug(
        "rows-found-do-not-count-for-the-live-list",
        "The list of messages grows beyond its limit by what the search found first.",
        "room = MOST_LIVE - listed - added",
        "room = MOST_LIVE - added",
    ),
    Bug(
        "failed-download-leaves-its-file",
        "A Parquet download that fails leaves its temporary file.",
        "tempfile.TemporaryFile()",
        "tempfile.NamedTemporaryFile(delete=False)",
    ),
    Bug(
        "search-cannot-be-stopped",
        "Stop leaves a search of the console reading its topic.",
        '    running.stop()\n    if "hx-request"',
        '    if "hx-request"',
    ),
    Bug(
        "text-that-is-cut-is-bytes",
        "A long text is listed in hexadecimal as its last character is cut.",
        "        if len(text.encode()) + 4 < len(message.data[:_LINE]):",
        "        if text.encode() != message.data[:_LINE]:",
    ),
)
