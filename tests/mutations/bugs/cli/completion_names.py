"""Seeded bugs of ``cli/completion_names.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_quick.py",
    "tests/unit/test_shell.py",
)

BUGS = (
    Bug(
        "names-outlive-a-change",
        "A shell completes the names that a store had, though it has changed.",
        '"project": project, "entries": entries}',
        '"project": project, "entries": None}',
    ),
    Bug(
        "names-of-a-restless-store-are-kept",
        "Names are kept of a table that may change again within a tick of the clock.",
        "if found and entries and max(time for _, time in entries) < _nanos(now - SETTLED):",
        "if found and entries:",
    ),
    Bug(
        "names-of-another-project-are-completed",
        "The shell completes names of the project that was asked for before.",
        '"directory": self._directory, "project": project, "entries": entries}',
        '"directory": self._directory, "entries": entries}',
    ),
)
