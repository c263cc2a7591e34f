"""Seeded bugs of ``console/topics.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_columns.py",
    "tests/unit/test_console_lists.py",
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_schemas.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "detached-counted",
        "The list of topics counts detached subscriptions.",
        " for each in readers if not each.detached)",
        " for each in readers)",
    ),
)
