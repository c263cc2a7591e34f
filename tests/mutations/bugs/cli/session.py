"""Seeded bugs of ``cli/session.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_quick.py",
    "tests/unit/test_shell.py",
)

BUGS = (
    Bug(
        "commands-load-pandas",
        "Every command imports pandas, where it is installed.",
        "        without_pandas()\n        return PubSub(\n",
        "        return PubSub(\n",
    ),
)
