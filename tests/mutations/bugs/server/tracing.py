"""The nearest tests of ``server/tracing.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_server_otel.py",)

BUGS: tuple[Bug, ...] = ()
