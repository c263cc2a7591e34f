"""Seeded bugs of ``jobs/option_groups.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_help.py",)

BUGS = (
    Bug(
        "shared-options-backwards",
        "The options that commands share are shown from the last to the first.",
        "for option in reversed(group):",
        "for option in group:",
    ),
)
