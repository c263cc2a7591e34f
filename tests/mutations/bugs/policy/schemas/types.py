"""Seeded bugs of ``policy/schemas/types.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_avro.py",
    "tests/unit/test_schema_sizes.py",
)

BUGS = (
    Bug(
        "decimals-rounded",
        "A decimal of too many digits is rounded.",
        "signed=True)) >= 10**precision:",
        "signed=True)) > 100**precision:",
    ),
    Bug(
        "reasons-that-are-no-utf8",
        "The reason why data does not fit its schema can have half a surrogate pair.",
        "super().__init__(as_utf8(why))",
        "super().__init__(why)",
    ),
)
