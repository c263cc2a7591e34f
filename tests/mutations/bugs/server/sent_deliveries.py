"""Seeded bugs of ``server/sent_deliveries.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_leaser.py",
    "tests/unit/test_moved_deadlines.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "deadlines-without-end",
        "Each deadline that a client moves is kept until it would have passed.",
        "if len(self._deadlines) > 2 * len(self._by_ack_id) + _DEADLINES_THAT_NO_LONGER_COUNT:",
        "if not self._by_ack_id:",
    ),
)
