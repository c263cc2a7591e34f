"""Seeded bugs of ``policy/view_names.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_view_names.py",)

BUGS = (
    Bug(
        "view-of-128-letters-is-cut",
        "The name of a view that fits gets a digest at its end.",
        "and (count[name.casefold()] > 1 or name.casefold() in taken or len(name) > LONGEST)",
        "and (count[name.casefold()] > 1 or name.casefold() in taken or len(name) >= LONGEST)",
    ),
    Bug(
        "view-names-differ-by-case",
        "Two views whose names differ in the case of their letters alone are one in a catalog.",
        "(count[name.casefold()] > 1 or",
        "(list(plain.values()).count(name) > 1 or",
    ),
    Bug(
        "reserved-view-name-given-out",
        "The view of a topic called topics replaces the registry.",
        "name.casefold() in taken or ",
        "",
    ),
    Bug(
        "view-of-another-topic",
        "A topic that is called as the view of another one has its messages in that view.",
        "Counter(name.casefold() for name in found.values())",
        "Counter(name.casefold() for name in plain.values())",
    ),
    Bug(
        "comment-longer-than-hives",
        "A topic with a long name has no view in a schema of Hive's metastore.",
        "over = max(0, len(text) - LONGEST_COMMENT)",
        "over = max(0, len(text) - 2 * LONGEST_COMMENT)",
    ),
)
