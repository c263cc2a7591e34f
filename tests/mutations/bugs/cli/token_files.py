"""Seeded bugs of ``cli/token_files.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_server_command.py",)

BUGS = (
    Bug(
        "byte-order-mark-in-a-token",
        "A token of a text of Windows is told as one with wrong characters.",
        'decode("utf-8-sig")',
        'decode("utf-8")',
    ),
    Bug(
        "token-file-of-other-bytes",
        "A token file that is no text is an unexpected failure.",
        "except (OSError, ValueError) as error:",
        "except OSError as error:",
    ),
)
