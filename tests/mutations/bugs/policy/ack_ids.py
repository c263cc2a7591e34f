"""Seeded bugs of ``policy/ack_ids.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_ack_ids.py",)

BUGS = (
    Bug(
        "truncated-ack-id",
        "An ack id with a wrong check is taken for another message.",
        "return ack_id if str(ack_id) == text else None",
        "return ack_id",
    ),
    Bug(
        "ack-ids-beyond-the-end",
        "An ack id of a position that no BIGINT holds is accepted, and ends its request.",
        "max(ack_id.lease_id, ack_id.position) >= END_OF_POSITIONS:",
        "max(ack_id.lease_id, ack_id.position) >= END_OF_POSITIONS * 10:",
    ),
    Bug(
        "ids-of-18-digits",
        "A message with an id of 19 digits is found by no filter and by no search.",
        "len(text) <= 19",
        "len(text) <= 18",
    ),
)
