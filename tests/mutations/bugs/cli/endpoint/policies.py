"""Seeded bugs of ``cli/endpoint/policies.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_policies.py",)

BUGS = (
    Bug(
        "conditional-bindings-joined",
        "add-iam-policy-binding gives a member a role under another one's condition.",
        '[each for each in policy.bindings if not each.HasField("condition")]',
        "list(policy.bindings)",
    ),
    Bug(
        "retried-without-a-new-read",
        "add-iam-policy-binding fails at each concurrent change.",
        "            if attempt == _ATTEMPTS - 1:\n                raise\n",
        "            raise\n",
    ),
)
