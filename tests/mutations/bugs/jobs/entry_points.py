"""Seeded bugs of ``jobs/entry_points.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_dependencies.py",)

BUGS = (
    Bug(
        "done-task-fails",
        "A platform's task ends with SystemExit(0), which is a failure there.",
        "        if left.code not in (None, 0):\n            raise\n",
        "        raise\n",
    ),
)
