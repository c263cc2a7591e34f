"""The nearest tests of ``cli/terminal.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_terminal.py",
    "tests/unit/test_cli_pull.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS: tuple[Bug, ...] = ()
