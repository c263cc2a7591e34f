"""The nearest tests of ``cli/endpoint/schemas.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_schemas.py",)

BUGS: tuple[Bug, ...] = ()
