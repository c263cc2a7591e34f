"""Seeded bugs of ``cli/partial_updates.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_crossed_updates.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "command-updates-whatever-is-stored",
        "A command that changes one label takes back those that others have set since its look.",
        'else {"if_unchanged": stored}',
        "else {}",
    ),
)
