"""Seeded bugs of ``policy/preconditions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_if_unchanged.py",)

BUGS = (
    Bug(
        "anew-is-the-same",
        "A resource that was deleted and created anew is taken for the one that was read.",
        "if now[name] != then[name]]",
        'if name not in ("uid", "create_time") and now[name] != then[name]]',
    ),
    Bug(
        "of-another-resource",
        "What was read of another resource is accepted as the condition of a change.",
        "if if_unchanged.name != name:",
        "if not if_unchanged.name:",
    ),
)
