"""Seeded bugs of ``policy/arguments.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_subscriber_end.py",
)

BUGS = (
    Bug(
        "coroutine-is-a-callback",
        "A query acknowledges what its coroutine would have processed, and runs nothing of it.",
        "    if not callable(function) or not runs:\n",
        "    if not callable(function):\n",
    ),
    Bug(
        "unrun-result-is-none",
        "A function that returns a coroutine has processed its messages, for a query.",
        "        if isinstance(found, _UNFINISHED):\n",
        "        if False:\n",
    ),
)
