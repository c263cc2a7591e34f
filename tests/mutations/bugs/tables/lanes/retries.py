"""Seeded bugs of ``tables/lanes/retries.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/protocol/test_outages.py",
    "tests/unit/test_storage_failures.py",
    "tests/unit/test_swaps.py",
)

BUGS = (
    Bug(
        "publisher-gives-up-at-once",
        "A storage that is away for a moment fails the messages of a publisher, and pauses keys.",
        "stop=stop_after_delay(total_timeout),",
        "stop=stop_after_attempt(1),",
    ),
    Bug(
        "publisher-repeats-what-may-be-published",
        "A publisher publishes twice what landed without an answer.",
        "retry=retry_if_exception_type((Aborted, Unavailable)),",
        "retry=retry_if_exception_type(Exception),",
    ),
)
