"""Seeded bugs of ``operations/iam.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_server_iam.py",)

BUGS = (
    Bug(
        "mask-of-a-policy-ignored",
        "A mask that does not name the bindings changes them.",
        "written = replaced(stored, checked, tables.new_id(), with_bindings=with_bindings)",
        "written = replaced(stored, checked, tables.new_id(), with_bindings=True)",
    ),
)
