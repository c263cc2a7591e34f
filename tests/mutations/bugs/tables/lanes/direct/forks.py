"""Seeded bugs of ``tables/lanes/direct/forks.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_forked_processes.py",)

BUGS = (
    Bug(
        "forked-process-waits",
        "A forked process waits for ever for what no thread of it will do.",
        "self.is_forked = self.uses_deltalake",
        "self.is_forked = False",
    ),
    Bug(
        "panic-after-a-fork",
        "A process that was forked from one that uses deltalake dies of a panic.",
        "return _refusal() if _PANIC in str(error) else None",
        "return None",
    ),
    Bug(
        "panic-in-so-many-words",
        "A panic after a fork is a traceback.",
        "_PANIC in str(error)",
        "_PANIC == str(error)",
    ),
)
