"""Seeded bugs of ``console/snapshots.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_columns.py",
    "tests/unit/test_console_form_values.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_successors.py",
    "tests/unit/test_console_mistakes.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "snapshot-of-nothing",
        "A form makes a snapshot of no subscription.",
        "    if not source:\n        form",
        "    if source is None:\n        form",
    ),
)
