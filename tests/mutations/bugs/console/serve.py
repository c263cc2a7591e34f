"""Seeded bugs of ``console/serve.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_command.py",
    "tests/unit/test_server_console.py",
)

BUGS = (
    Bug(
        "brackets-twice",
        "The URL of a console at an IPv6 address has its brackets twice.",
        "shown = f\"[{host.strip('[]')}]\" if",
        'shown = f"[{host}]" if',
    ),
)
