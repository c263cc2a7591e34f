"""Seeded bugs of ``tables/arrow_types.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_arrow_from_elsewhere.py", "tests/unit/test_arrow_types.py")

BUGS = (
    Bug(
        "encoded-texts-are-refused",
        "A column of texts that a dictionary encodes is refused.",
        "return type_.value_type if is_encoded else type_",
        "return type_",
    ),
    Bug(
        "names-of-pairs-may-come-twice",
        "A struct with the same field twice passes for attributes.",
        "return len(names) == len(fields) and all(",
        "return bool(names) and all(",
    ),
)
