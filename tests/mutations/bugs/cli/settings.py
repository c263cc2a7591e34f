"""Seeded bugs of ``cli/settings.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint_reached.py",
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_shell.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "home-of-a-token",
        "--endpoint-token-file=~/token is not found.",
        'for key in ("root", "tables_root", "endpoint_tls", "endpoint_token_file"):',
        'for key in ("root", "tables_root", "endpoint_tls"):',
    ),
    Bug(
        "a-tilde-is-a-directory",
        "Tables of subscriptions are written below a directory ~.",
        'for key in ("root", "tables_root", "endpoint_tls", "endpoint_token_file"):',
        'for key in ("root", "endpoint_tls", "endpoint_token_file"):',
    ),
    Bug(
        "missing-named-config-is-ignored",
        "A file that PUBSUB_DELTA_CONFIG names and that does not exist is taken for none.",
        'if not named and not ("HOME" in environment and path.is_file()):',
        'if not ((named or "HOME" in environment) and path.is_file()):',
    ),
)
