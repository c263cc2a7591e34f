"""Seeded bugs of ``policy/iam.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_server_iam.py",)

BUGS = (
    Bug(
        "policy-of-another-etag-replaced",
        "An IAM policy that was changed since it was read is overwritten.",
        "if new.etag and new.etag != stored.etag:",
        "if new.etag and not stored.etag:",
    ),
    Bug(
        "policy-keeps-its-etag",
        "A changed IAM policy has the etag that it had.",
        "return replace(new if with_bindings else stored, etag=etag)",
        "return replace(new if with_bindings else stored, etag=stored.etag)",
    ),
    Bug(
        "condition-of-an-old-version",
        "A condition is shown to clients that do not know conditions.",
        "if version < 3 and any(",
        "if version < 0 and any(",
    ),
    Bug(
        "permission-of-another-kind",
        "Permissions that there are not on a resource are granted.",
        "return [each for each in asked if each in PERMISSIONS.get(collection, ())]",
        "return asked",
    ),
    Bug(
        "policy-as-long-as-allowed",
        "A policy of exactly 100,000 bytes is refused.",
        "if size > LONGEST:",
        "if size >= LONGEST:",
    ),
    Bug(
        "bindings-without-members-stay",
        "A policy that was read has roles without members.",
        "bindings=tuple(each for each in policy.bindings if each.members)",
        "bindings=policy.bindings",
    ),
    Bug(
        "as-many-members-as-allowed",
        "A policy with exactly 1,500 members is refused.",
        "    if members > MOST_MEMBERS:",
        "    if members >= MOST_MEMBERS:",
    ),
    Bug(
        "permissions-on-a-schema",
        "A question for permissions on a schema is an unexpected failure of the server.",
        "PERMISSIONS.get(collection, ())",
        "PERMISSIONS[collection]",
    ),
)
