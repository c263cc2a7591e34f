"""Seeded bugs of ``delivery/expiration.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_expiration_beside_others.py",
    "tests/unit/test_expiration.py",
)

BUGS = (
    Bug(
        "expires-in-use",
        "A subscription that somebody used while it expired stays deleted.",
        "begun.end(uid, None if expires else if_shown)",
        "begun.end(uid, None)",
    ),
    Bug(
        "expiration-undoes-a-deletion",
        "A subscription that somebody has deleted is told as expired.",
        "    return expires and ended\n",
        "    return expires\n",
    ),
    Bug(
        "an-expiring-subscription-goes-with-its-storage",
        "A storage that is away while a subscription expires hides it until the next run.",
        "            begun.end(uid, if_shown)\n        raise",
        "            begun.begun()\n        raise",
    ),
    Bug(
        "hidden-whoever-is-in-use",
        "maintain writes to the registry for each subscription, idle or not.",
        "expirations.begin(subscription.uid, now, idle)",
        "expirations.begin(subscription.uid, now, lambda _: True)",
    ),
    Bug(
        "killed-expiration-expires-at-once",
        "A subscription that was in use when a job was killed is deleted by the next run.",
        'return _end(tables, subscription, since, {"update_time": now})',
        "return _end(tables, subscription, since, {})",
    ),
    Bug(
        "killed-expiration-goes-by-now",
        "A subscription that was in use when a job was killed is deleted for its rest since.",
        'return _end(tables, subscription, since, {"update_time": now})',
        'return _end(tables, subscription, now, {"update_time": now})',
    ),
)
