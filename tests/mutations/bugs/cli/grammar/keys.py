"""The nearest tests of ``cli/grammar/keys.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_values.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS: tuple[Bug, ...] = ()
