"""Seeded bugs of ``tables/lanes/direct/attributes.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_stored_attributes.py",)

BUGS = (
    Bug(
        "both-values-are-delivered",
        "An attribute that appears twice is delivered twice.",
        "if np.count_nonzero(present) == len(places):",
        "if np.count_nonzero(present):",
    ),
)
