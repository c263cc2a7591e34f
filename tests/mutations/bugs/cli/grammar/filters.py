"""Seeded bugs of ``cli/grammar/filters.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_values.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "side-by-side-is-or",
        "Of terms that stand side by side one is enough.",
        "return _all([self.test(each) for each in tree.children])\n\n    def _disjunction",
        "return lambda r: any(self.test(e)(r) for e in tree.children)\n\n    def _disjunction",
    ),
    Bug(
        "and-and-or-are-mixed",
        "AND and OR stand at one level, and who reads them differently is not told.",
        "if either and any(len(each.children) > 1 for each in inner):",
        "if either and any(len(each.children) > 9 for each in inner):",
    ),
    Bug(
        "first-item-of-a-list",
        "A word is looked for in the first item of a list only.",
        "return any(_found(each, word) for each in value)",
        "return any(_found(each, word) for each in value[:1])",
    ),
)
