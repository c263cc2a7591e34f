"""Seeded bugs of ``policy/schemas/revisions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_revisions.py",
    "tests/unit/test_schema_calls.py",
)

BUGS = (
    Bug(
        "range-without-its-last",
        "The last revision of a topic's range is not accepted.",
        "revisions[begin : end + 1]",
        "revisions[begin : end or 1]",
    ),
    Bug(
        "deleted-bound-is-no-bound",
        "A bound that was deleted is forgotten with its revision, and bounds nothing any more.",
        "    return [emptied if each is gone else each for each in revisions]",
        "    return [each for each in revisions if each is not gone]",
    ),
    Bug(
        "deleted-ones-count",
        "Revisions that were deleted count among the 20 that a schema may have.",
        "    if len(living(revisions)) >= MOST_REVISIONS:",
        "    if len(revisions) >= MOST_REVISIONS:",
    ),
    Bug(
        "only-revision-deleted",
        "The only revision that is left can be deleted.",
        "    if len(living(revisions)) == 1:",
        "    if len(revisions) == 1:",
    ),
    Bug(
        "size-in-characters",
        "The size of a definition is counted in characters.",
        "        size = len(text.encode())",
        "        size = len(text)",
    ),
    Bug(
        "range-of-one-revision",
        "Schema settings whose first and last revision are the same are refused.",
        "ids.index(first) > ids.index(last):",
        "ids.index(first) >= ids.index(last):",
    ),
)
