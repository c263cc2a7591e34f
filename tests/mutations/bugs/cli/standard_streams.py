"""Seeded bugs of ``cli/standard_streams.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_streams.py",
    "tests/unit/test_cli_pull_follow.py",
    "tests/unit/test_cli_pull.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "closed-output-is-noticed-late",
        "A command without standard output is carried out, and told as failed.",
        "if sys.stdout is None:",
        "if sys.stdout is None and sys.stdin is None:",
    ),
    Bug(
        "closed-error-stream-gets-a-table",
        "Where standard error alone is closed, what is written to it goes into a table.",
        "in range(3):",
        "in range(2):",
    ),
)
