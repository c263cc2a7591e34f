"""The nearest tests of ``server/counters.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_counters.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS: tuple[Bug, ...] = ()
