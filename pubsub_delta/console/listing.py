"""Listings of the store, read to their end as far as a page can show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pubsub_delta.resources import Page

T = TypeVar("T")

MOST = 1_000
"""So many resources are offered in a menu or listed on a page."""


def listed(ask: Callable[..., Page[T]], *names: str) -> list[T]:
    """Return the items of all pages of a listing, at most ``MOST``."""
    found = ask(*names, page_size=MOST)
    items = list(found)
    while found.next_page_token and len(items) < MOST:
        found = ask(*names, page_size=MOST, page_token=found.next_page_token)
        items += found
    return items[:MOST]
