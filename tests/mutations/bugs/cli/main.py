"""Seeded bugs of ``cli/main.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_quick.py",
    "tests/unit/test_cli_streams.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "full-log-changes-the-exit-code-of-a-command",
        "A command whose output is full ends with the exit code 120.",
        "        drop_unwritten()\n",
        "",
    ),
    Bug(
        "orderly-exit-beside-a-listing",
        "The process of a Tab whose listing goes on crashes at its exit.",
        "        exit_beside_listing(end.code if isinstance(end.code, int) else 0)\n",
        "",
    ),
)
