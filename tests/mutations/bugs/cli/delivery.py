"""Seeded bugs of ``cli/delivery.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_pull.py",
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_cli_help.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "modify-expired-succeeds",
        "modify-message-ack-deadline ends with 0 though the leases were over and nothing "
        "was changed.",
        'fail_on_ack_ids(app, "modify", [*result.expired, *result.invalid])',
        'fail_on_ack_ids(app, "modify", result.invalid)',
    ),
    Bug(
        "snapshot-of-this-project",
        "seek --snapshot-project is ignored.",
        "app.snapshot(snapshot, snapshot_project)",
        "app.snapshot(snapshot)",
    ),
    Bug(
        "late-acks-fail-a-command",
        "A command fails whose acks came late, though they have counted.",
        'fail_on_ack_ids(app, "ack", result.invalid)',
        'fail_on_ack_ids(app, "ack", [*result.expired, *result.invalid])',
    ),
    Bug(
        "snapshots-of-the-own-project",
        "A seek looks for the snapshot of another project in its own.",
        "app.snapshot(snapshot, snapshot_project)\n",
        "app.snapshot(snapshot)\n",
    ),
)
