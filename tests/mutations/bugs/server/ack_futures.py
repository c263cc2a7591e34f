"""Seeded bugs of ``server/ack_futures.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_seeks.py",
    "tests/unit/test_server_leases.py",
    "tests/unit/test_acks_of_one_call.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "ids-of-another-subscription-pass",
        "Ack ids of another subscription are answered as if they were acknowledged.",
        "if self.foreign:",
        "if self.foreign and self.malformed:",
    ),
)
