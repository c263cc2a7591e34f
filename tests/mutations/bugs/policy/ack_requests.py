"""Seeded bugs of ``policy/ack_requests.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_acks_of_one_call.py",
    "tests/unit/test_ack_requests.py",
    "tests/unit/test_moved_deadlines.py",
)

BUGS = (
    Bug(
        "given-back-counts-a-failure",
        "Messages that a consumer gives back unseen count a failed attempt.",
        "state = delivery.give_back(state, request.given_back, terms, now)",
        "state, _ = delivery.modify_ack_deadline(\n"
        "            state, request.given_back, terms, now, timedelta(0)\n        )",
    ),
    Bug(
        "moved-deadlines-fail",
        "A delivery fails at the deadline that its server knows, whatever another one was given.",
        "moved = _moved_ends(state, request.known_ends, now)",
        "moved: dict[datetime, PositionsByLease] = {}",
    ),
    Bug(
        "extension-shortens-what-was-moved",
        "A server that extends its lease ends it before a deadline that another one was given.",
        "if end > now + deadline)",
        "if not deadline)",
    ),
    Bug(
        "only-later-ends-were-moved",
        "A new deadline at another server that is before the end of the lease is overlooked.",
        "known != span.until > now",
        "known < span.until > now",
    ),
    Bug(
        "a-call-that-fails-is-acknowledged-in-part",
        "Of a call of which an ack fails the others are written, and fail when they are repeated.",
        "if sum(map(len, live.values())) < sum(map(len, call.values())):",
        "if not any(live.values()):",
    ),
)
