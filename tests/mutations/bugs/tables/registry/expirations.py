"""Seeded bugs of ``tables/registry/expirations.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_expiration_beside_others.py",
    "tests/unit/test_expiration.py",
)

BUGS = (
    Bug(
        "put-back-without-its-policy",
        "A subscription that was used while it expired has lost its IAM policy.",
        "self._subscriptions.change(uid, columns_of_fields(if_shown), _is_expiring)",
        'self._subscriptions.change(uid, {**columns_of_fields(if_shown), "iam_policy": None})',
    ),
    Bug(
        "expiring-is-visible",
        "A subscription that a job is deleting is in listings, and can be used.",
        "    return expiring_since(row) is None",
        "    return True",
    ),
    Bug(
        "expiring-is-deleted-though-it-was-changed",
        "An update at the last moment is lost with its subscription.",
        "return self._subscriptions.remove(uid, _is_expiring)",
        "return self._subscriptions.remove(uid)",
    ),
)
