"""Seeded bugs of ``server/exporting.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_otel.py",
    "tests/unit/test_server_memory.py",
)

BUGS = (
    Bug(
        "held-messages-are-not-told",
        "A metric of the messages that a server holds tells the bytes of what is published.",
        "lambda c: c.memory.messages,",
        "lambda c: c.memory.publishing,",
    ),
)
