"""Seeded bugs of ``tables/lanes/direct/history.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_direct.py",)

BUGS = (
    Bug(
        "history-numbered-as-before",
        "Commits that landed while a history was read are given versions of earlier ones.",
        "return version + commits.index(known[0]), commits",
        "return version, commits",
    ),
)
