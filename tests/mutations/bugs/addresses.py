"""The nearest tests of ``addresses.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_listening.py",
    "tests/unit/test_console_security.py",
    "tests/unit/test_cli_endpoint_reached.py",
)

BUGS: tuple[Bug, ...] = ()
