"""Seeded bugs of ``tables/typed.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_schema_typing.py",
)

BUGS = (
    Bug(
        "columns-that-differ-in-case",
        "Fields sku after SKU get two columns that differ by case alone.",
        "taken.add(name.lower())",
        "taken.add(name)",
    ),
    Bug(
        "binary-as-text",
        "The bytes of a typed message are text.",
        '"binary": pa.binary(),',
        '"binary": TEXT,',
    ),
)
