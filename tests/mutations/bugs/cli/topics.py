"""Seeded bugs of ``cli/topics.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_schemas.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_changed.py",
    "tests/unit/test_cli_help.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "a-changed-topic-is-not-printed",
        "topics update --format=json prints nothing.",
        '    app.print_status(f"Updated topic [{name}].")\n'
        "    app.show_changed([topic_record(changed)])\n",
        '    app.print_status(f"Updated topic [{name}].")\n',
    ),
)
