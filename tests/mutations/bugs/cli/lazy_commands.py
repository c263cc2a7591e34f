"""The nearest tests of ``cli/lazy_commands.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_quick.py",
    "tests/unit/test_cli_help.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS: tuple[Bug, ...] = ()
