"""Seeded bugs about what was deleted and created again, and what others do between two lines."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_LATER_LIVES: tuple[Bug, ...] = (
    Bug(
        "ack-of-a-later-subscription",
        "A server refuses ack ids of a subscription that was created anew elsewhere.",
        "server/hub.py",
        "if any(not each.startswith(found.leaser.uid) for each in ack_ids):",
        "if not ack_ids:",
    ),
    Bug(
        "wildcard-tells-what-exists",
        "TestIamPermissions refuses a wildcard only on what exists.",
        "server/iam_service.py",
        "        has = granted(name.collection, request.permissions)  # first: a refusal reveals "
        "nothing\n",
        "        has = [each for each in request.permissions if '*' not in each]\n",
    ),
    Bug(
        "rest-of-a-field-as-it-was-read",
        "An update of a part of a field takes back what others have changed of the rest.",
        "server/partial_updates.py",
        "return await write(stored, stored if depends else None)",
        "return await write(stored, None)",
    ),
    Bug(
        "account-checked-once",
        "Whoever changes an endpoint gets tokens of an account that was set since the check.",
        "server/subscriber_service.py",
        "if self._access is not None and unchanged is not None:",
        "if self._access is not None and unchanged is None:",
    ),
)
