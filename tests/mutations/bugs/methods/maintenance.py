"""The nearest tests of ``methods/maintenance.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_client.py",
    "tests/unit/test_retention_job.py",
    "tests/unit/test_many_dead_letters.py",
)

BUGS: tuple[Bug, ...] = ()
