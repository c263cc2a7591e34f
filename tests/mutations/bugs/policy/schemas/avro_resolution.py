"""Seeded bugs of ``policy/schemas/avro_resolution.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_logical_types.py",
    "tests/unit/test_schema_typing.py",
)

BUGS = (
    Bug(
        "first-branch-that-takes-a-value",
        "A value of a union is read as of an earlier branch, by another revision than its own.",
        'reader = reader.get(_BRANCHES, {}).get(writer["type"], reader)',
        "reader = dict(reader)",
    ),
    Bug(
        "logical-types-of-nobody",
        "A number that a later revision reads as a time stays a number.",
        "return value if convert is None else convert(value, reader, None)",
        "return value",
    ),
)
