"""The nearest tests of ``cli/endpoint/methods.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_cli_endpoint_reached.py",
)

BUGS: tuple[Bug, ...] = ()
