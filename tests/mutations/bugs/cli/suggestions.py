"""The nearest tests of ``cli/suggestions.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_terminal.py",
    "tests/unit/test_command_transcripts.py",
    "tests/unit/test_cli_suggestions.py",
)

BUGS: tuple[Bug, ...] = (
    Bug(
        "the-nearest-before-that-of-the-same-name",
        "A topic that is missing is not told as a subscription of that name.",
        "in stored(other, of):",
        "in stored(collection, of):",
    ),
)
