"""Listings: all pages, or as many resources as are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.service import Service
from pubsub_delta.resources import Page

T = TypeVar("T")

limit_option = click.option("--limit", type=click.IntRange(min=1), help="At most so many.")


def listed(
    app: App, fetch: Callable[[Service, str | None], Page[T]], limit: int | None = None
) -> list[T]:
    """Return a whole listing, or its beginning, whatever the size of its pages."""

    def ask(store: Service) -> list[T]:
        page = fetch(store, None)
        found = list(page)
        while page.next_page_token and (limit is None or len(found) < limit):
            page = fetch(store, page.next_page_token)
            found += page
        return found[:limit]

    return app.call(ask)
