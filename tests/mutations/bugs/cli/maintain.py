"""Seeded bugs of ``cli/maintain.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_usual_format.py",
    "tests/unit/test_command_transcripts.py",
    "tests/unit/test_cli_maintain.py",
)

BUGS = (
    Bug(
        "maintain-without-the-usual-format",
        "maintain does not take the format of the settings file.",
        "if app.settings.format:",
        'if app.global_options.get("format"):',
    ),
    Bug(
        "maintain-is-never-exact",
        "maintain --exact deletes whole days only.",
        ", exact=bool(exact), dry_run",
        ", dry_run",
    ),
)
