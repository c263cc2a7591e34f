"""Seeded bugs of ``cli/endpoint/client.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_cli_endpoint_reached.py",
)

BUGS = (
    Bug(
        "no-ack-ids-succeed-without-a-request",
        "A command without ack ids says that it is done, and asks no server.",
        "while wanted or not given:",
        "while wanted:",
    ),
    Bug(
        "earlier-failures-of-ack-ids",
        "Ack ids that failed before the last request of a command are told as acknowledged.",
        "                failed |= refused\n",
        "                failed = refused\n",
    ),
)
