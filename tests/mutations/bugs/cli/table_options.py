"""The nearest tests of ``cli/table_options.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_cli_dependent_options.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS: tuple[Bug, ...] = ()
