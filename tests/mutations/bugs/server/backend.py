"""Seeded bugs of ``server/backend.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_transport.py",
    "tests/unit/test_server_gathering.py",
    "tests/unit/test_server_rims.py",
    "tests/lanes/test_table_server.py",
    "tests/unit/test_server_table_writers.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "detached-table-subscriptions-are-written",
        "A server starts a writer for a detached table subscription.",
        '        found = self._tables.registry.subscriptions_to("table_name")\n'
        "        return [each for each in found if not each.detached]",
        '        return self._tables.registry.subscriptions_to("table_name")',
    ),
)
