"""Seeded bugs of ``cli/grammar/selection.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "limit-goes-before-order",
        "A limit takes the first of the store, and not of what is sorted.",
        "found = in_order(found, sort_keys(",
        "found = in_order(found[: selection.limit], sort_keys(",
    ),
    Bug(
        "last-sort-key-first",
        "Of several keys a listing is sorted by the last one first.",
        "    for key, reverse in reversed(keys):\n",
        "    for key, reverse in keys:\n",
    ),
    Bug(
        "flatten-takes-keys-of-the-first-level",
        "--flatten writes the items of a nested list beside it.",
        "holder, last = value_at(one, end[:-1]), end[-1]",
        "holder, last = one, end[-1]",
    ),
    Bug(
        "flatten-writes-a-name-as-it-was-given",
        "--flatten=message_ids[] writes the items beside the list messageIds, which stays.",
        "holder[spelled(last, holder) if isinstance(holder, dict) else last] = item",
        "holder[last] = item",
    ),
)
