"""Tests that are nearest to several modules."""

from __future__ import annotations

TABLE_WRITES = (
    "tests/lanes/test_table_unknown_fields.py",
    "tests/lanes/test_table_writes.py",
    "tests/lanes/test_table_rows.py",
    "tests/lanes/test_table_slices.py",
    "tests/lanes/test_table_refused.py",
)
"""What a table subscription writes, and refuses."""
