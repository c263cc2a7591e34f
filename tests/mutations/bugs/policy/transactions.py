"""Seeded bugs of ``policy/transactions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_publish_calls.py",)

BUGS = (
    Bug(
        "dead-letters-under-a-publishers-id",
        "A publisher can keep dead letters of a subscription from landing.",
        'return f"{OWN}{subscription_uid}"',
        "return subscription_uid",
    ),
)
