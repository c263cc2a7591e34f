"""Seeded bugs of ``cli/snapshots.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_help.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_changed.py",
    "tests/unit/test_cli_dependent_options.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "all-snapshots-are-read-for-a-few",
        "A listing of a few snapshots reads all of them.",
        "store.list_snapshots(page_token=token), limit)",
        "store.list_snapshots(page_token=token), None)",
    ),
)
