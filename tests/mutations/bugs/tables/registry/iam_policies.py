"""Seeded bugs of ``tables/registry/iam_policies.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_iam.py",
    "tests/unit/test_server_access_changes.py",
)

BUGS = (
    Bug(
        "policy-of-a-deleted-topic",
        "A new topic of the same name has the policy of the one that was deleted.",
        "        return is_living(row)\n",
        "        return True\n",
    ),
    Bug(
        "expired-snapshots-policy-in-force",
        "The policy of an expired snapshot holds for the next one of its name.",
        "if row[COLUMN] is not None and _is_there(collection, row, now)",
        "if row[COLUMN] is not None",
    ),
    Bug(
        "policy-of-an-expired-snapshot",
        "The policy of an expired snapshot is in force.",
        'is_in_use(row) if collection == "subscriptions" else is_live(row, now)',
        "is_in_use(row) if collection == 'subscriptions' else True",
    ),
)
