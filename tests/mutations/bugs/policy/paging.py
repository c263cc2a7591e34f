"""Seeded bugs of ``policy/paging.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_paging.py",)

BUGS = (
    Bug(
        "page-token-of-signs",
        "A page token with two signs, or with thousands of digits, ends in no documented error.",
        "if not _NUMBER.fullmatch(after):",
        'if not after.lstrip("-").isdecimal():',
    ),
    Bug(
        "page-begins-with-the-last",
        "A page begins with the last resource of the page before.",
        "if item.name > after)",
        "if item.name >= after)",
    ),
    Bug(
        "page-after-the-last",
        "A last page that is full has a token for another one.",
        "if len(shown) < len(rest) else",
        "if len(shown) <= len(rest) and shown else",
    ),
    Bug(
        "page-of-another-listing",
        "A page token of another listing shows other pages, or none.",
        "if page_token and collection not in after:",
        "if page_token and not after:",
    ),
    Bug(
        "page-repeats-an-item",
        "A page begins with the last item of the page before.",
        "if item[0] > int(after)]",
        "if item[0] >= int(after)]",
    ),
)
