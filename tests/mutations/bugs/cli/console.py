"""Seeded bugs of ``cli/console.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_console_command.py",)

BUGS = (
    Bug(
        "last-allowed-host",
        "One name of a console is permitted at most, and taken for its letters.",
        'allowed-host",\n            multiple=True,\n',
        'allowed-host",\n',
    ),
)
