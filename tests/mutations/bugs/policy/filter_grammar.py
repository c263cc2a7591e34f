"""Seeded bugs of ``policy/filter_grammar.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_filters.py",)

BUGS = (
    Bug(
        "differs-needs-the-attribute",
        "A filter with != is false where the attribute is missing.",
        "return Not(Equals(*found))",
        "return And((Has(found[0]), Not(Equals(*found))))",
    ),
    Bug(
        "or-of-two",
        "An OR of three terms is refused.",
        "disjunction: term (_OR term)+",
        "disjunction: term _OR term",
    ),
)
