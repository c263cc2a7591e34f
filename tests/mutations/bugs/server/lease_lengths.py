"""Seeded bugs of ``server/lease_lengths.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_leases.py",
    "tests/unit/test_server_odd_calls.py",
    "tests/unit/test_server_leaser.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "short-leases-where-commits-are-slow",
        "Leases end before a slow request has extended them.",
        "slowest_request * _REQUESTS_IN_A_LEASE",
        "slowest_request",
    ),
    Bug(
        "leases-shorter-than-deadlines",
        "With exactly-once delivery a lease ends before its client's deadline if a server dies.",
        "return max(LONGEST_LEASE, longest_deadline + beyond)",
        "return LONGEST_LEASE",
    ),
    Bug(
        "covered-too-late",
        "With exactly-once delivery clients wait for an extension that could come before.",
        "return max(_EXTENDED_AT, (length + longest_deadline) / 2 / length)",
        "return _EXTENDED_AT",
    ),
)
