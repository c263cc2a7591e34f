"""Seeded bugs of ``policy/sampling.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_metrics.py",)

BUGS = (
    Bug(
        "sample-of-the-first",
        "The sample for mean sizes begins at the first message of each step, not in its middle.",
        "<= (2 * pick + 1) * total:",
        "<= 2 * pick * total:",
    ),
)
