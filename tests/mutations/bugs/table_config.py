"""The nearest tests of ``table_config.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_registry_rows.py",
    "tests/unit/test_server_wire.py",
    "tests/lanes/test_table_ended.py",
)

BUGS: tuple[Bug, ...] = ()
