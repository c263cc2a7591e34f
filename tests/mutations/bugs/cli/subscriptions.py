"""Seeded bugs of ``cli/subscriptions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_help.py",
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_push.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_changed.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_cli_dependent_options.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "project-of-letters-ignored",
        "The project of a dead-letter topic is ignored: letters go to a topic of the own project.",
        'target = app.topic(given["dead_letter_topic"], given["dead_letter_topic_project"])',
        'target = app.topic(given["dead_letter_topic"], None)',
    ),
    Bug(
        "option-of-zero-seconds-is-left-out",
        "A retry delay of zero that an option asks for is the default.",
        "for name, value in backoff.items() if value is not None}",
        "for name, value in backoff.items() if value}",
    ),
    Bug(
        "example-with-a-colon",
        "An example of an update has labels that are refused.",
        "--clear-dead-letter-policy --update-labels=env=test",
        "--clear-dead-letter-policy --update-labels=env:test",
    ),
)
