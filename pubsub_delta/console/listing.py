"""Listings of the store, read to their end as far as a page can show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pubsub_delta.resources import Page

T = TypeVar("T")

MOST = 10_000
"""So many resources are listed, or offered in a menu."""
_PAGE = 1_000


def listed(ask: Callable[..., Page[T]], *names: str) -> list[T]:
    """Return the items of all pages of a listing, at most ``MOST``."""
    found = ask(*names, page_size=_PAGE)
    items = list(found)
    while found.next_page_token and len(items) < MOST:
        found = ask(*names, page_size=_PAGE, page_token=found.next_page_token)
        items += found
    return items[:MOST]
