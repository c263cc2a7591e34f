"""Seeded bugs of ``errors.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_errors.py",
    "tests/unit/test_lost_registry.py",
)

BUGS = (
    Bug(
        "error-of-half-a-pair",
        "An error that names half of a surrogate pair cannot be printed.",
        "shortened(as_utf8(each), LONGEST_MESSAGE)",
        "shortened(each, LONGEST_MESSAGE)",
    ),
    Bug(
        "message-of-megabytes",
        "An error repeats a value of megabytes.",
        "shortened(as_utf8(each), LONGEST_MESSAGE) if isinstance(each, str) else each",
        "each",
    ),
    Bug(
        "problem-of-an-unknown-class",
        "The report of maintenance names a class that stands on no page.",
        "each.__module__ == PubSubError.__module__",
        "each.__module__",
    ),
    Bug(
        "blank-line-of-a-problem",
        "A problem is told by an empty line where its error begins with one.",
        "next(filter(None, map(str.strip, text.splitlines()))",
        "next(iter(map(str.strip, text.splitlines()))",
    ),
)
