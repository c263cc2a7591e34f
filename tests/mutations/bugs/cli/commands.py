"""Seeded bugs of ``cli/commands.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_help.py",
    "tests/unit/test_shell.py",
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_streams.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "closed-stream-gets-a-table",
        "What is written to a closed standard error is written into a table.",
        "            open_closed_streams()\n",
        "",
    ),
)
