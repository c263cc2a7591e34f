"""The nearest tests of ``server/tracing.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_otel.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS: tuple[Bug, ...] = ()
