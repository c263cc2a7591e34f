"""Seeded bugs of ``server/memory.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_memory.py",
    "tests/unit/test_server_rims.py",
    "tests/unit/test_server_loops.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "memory-beyond-its-bound",
        "Where more than the bound is in memory, more is read.",
        "free = max(0, whole._most_bytes - whole.bytes)",
        "free = whole._most_bytes - whole.bytes",
    ),
    Bug(
        "publishing-memory-leaks",
        "The bytes of a publish that failed go on to count as waiting: after 64 MB of "
        "failures a server refuses every publish.",
        "        try:\n            yield\n        finally:\n            self.publishing -= size",
        "        yield\n        self.publishing -= size",
    ),
    Bug(
        "messages-bounded-apart",
        "Each subscription of a server may have as many messages in memory as all of them.",
        "whole.messages >= whole._most_messages",
        "self.messages >= whole._most_messages",
    ),
    Bug(
        "a-full-server-starves-the-others",
        "A server that is full leases nothing to a subscription that has nothing yet.",
        "return bool(self.messages) and whole.messages >= whole._most_messages",
        "return whole.messages >= whole._most_messages",
    ),
)
