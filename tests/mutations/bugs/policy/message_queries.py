"""Seeded bugs of ``policy/message_queries.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_find.py",
    "tests/unit/test_missing_statistics.py",
    "tests/unit/test_search_conditions.py",
)

BUGS = (
    Bug(
        "query-of-any-pair",
        "A search for an attribute without a value ends in an error of Arrow.",
        "if not isinstance(given, tuple) or len(given) != 2:",
        "if not isinstance(given, tuple):",
    ),
    Bug(
        "latest-rounded-up",
        "A search until a time finds what was published a microsecond later.",
        '("latest", True)',
        '("latest", False)',
    ),
    Bug(
        "search-for-the-last-id",
        "A search for the largest message ID is refused.",
        "return type(given) is int and 0 <= given <= _HIGHEST",
        "return type(given) is int and 0 <= given < _HIGHEST",
    ),
    Bug(
        "end-of-a-search-rounded-up",
        "A search until a nanosecond finds messages of the microsecond after it.",
        'read_time(given, f"query.{name}", until=until)',
        'read_time(given, f"query.{name}")',
    ),
    Bug(
        "search-by-a-state-that-is-none",
        "A search by a state that does not exist finds nothing, and tells no mistake.",
        "isinstance(each, str) and each in _STATES for each in given",
        "isinstance(each, str) for each in given",
    ),
)
