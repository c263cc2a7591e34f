"""Listings: all pages, or as many resources as are asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeVar

import click

from pubsub_delta.cli.application import App
from pubsub_delta.client import PubSub
from pubsub_delta.resources import Page

T = TypeVar("T")

limit_option = click.option("--limit", type=click.IntRange(min=1), help="At most so many.")


def listed(
    app: App, fetch: Callable[[PubSub, str | None], Page[T]], limit: int | None = None
) -> list[T]:
    """Return a whole listing, or its beginning, whatever the size of its pages."""
    found: list[T] = []
    token: str | None = None
    while limit is None or len(found) < limit:
        page = app.call(lambda store, token=token: fetch(store, token))  # type: ignore[misc]
        found += page
        token = page.next_page_token
        if not token:
            break
    return list(islice(found, limit))
