"""Seeded bugs of ``server/internal_channel.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_rest.py",
    "tests/unit/test_server_connections.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "connections-of-one-grpc-server",
        "All connections have one server of gRPC, where the calls of all clients wait in line.",
        "kind, _, place = next(self._turns)",
        "kind, _, place = self._addresses[0]",
    ),
)
