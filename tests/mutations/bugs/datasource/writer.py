"""The nearest tests of ``datasource/writer.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/delta/test_data_source_writes.py",)

BUGS: tuple[Bug, ...] = ()
